package droid

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/layer"
	"droid-acp/internal/files"
)

// envAutoUpdate keeps droid from replacing its own program while sessions run.
const envAutoUpdate = "FACTORY_DROID_AUTO_UPDATE_ENABLED"

// flagSystemPrompt names a file whose text droid appends to its system prompt. droid
// reads it once, as it starts (0.99 to 0.225).
const flagSystemPrompt = "--append-system-prompt-file"

// Command says how to run droid.
type Command struct {
	Path string   // of the program, see Find
	Args []string // put before "exec"
	Dir  string   // working directory, "" for ours
	Env  []string // nil for ours
	// Runtime makes the process take MCP servers and hooks where that can be done, see
	// Client.SetRuntime.
	Runtime bool
	// Without is what a project brings to run and the process is to leave out, nil for
	// nothing. Such a process also runs no MCP server and no hook of anybody's, until
	// Client.SetRuntime says which. Start fails with a LeftOutError where that cannot be had.
	Without *layer.Layer
	// WithoutWatcher keeps git from running the program that a repository names for
	// watching its files, in droid and in all that it runs.
	WithoutWatcher bool
	// SystemPrompt is added to droid's system prompt, "" for nothing. It holds for all
	// sessions of the process, new and loaded, also after a compaction, and droid stores
	// nothing of it (0.99 to 0.225).
	SystemPrompt string
}

// arguments are the whole command line behind the program. The flags --model,
// --auto and --use-spec have no effect in this mode (0.99 to 0.225), so all
// settings go into Initialize.
func (c Command) arguments() []string {
	args := append([]string(nil), c.Args...)
	args = append(args, "exec", "--input-format", "stream-jsonrpc", "--output-format", "stream-jsonrpc")
	if c.Dir != "" {
		args = append(args, "--cwd", c.Dir)
	}
	return args
}

func (c Command) environment() []string {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	for _, v := range env {
		if strings.HasPrefix(v, envAutoUpdate+"=") {
			return env
		}
	}
	return append(env[:len(env):len(env)], envAutoUpdate+"=false")
}

// Start runs droid and returns a client of it. droid lives until Close, Kill or
// its own end; on Linux and Windows it also ends when our process dies.
//
// log may be nil.
func Start(cmd Command, log *zap.Logger) (*Client, error) {
	return start(cmd, log, defaultBounds)
}

func start(cmd Command, log *zap.Logger, b bounds) (*Client, error) {
	if log == nil {
		log = zap.NewNop()
	}
	if cmd.Dir != "" {
		if info, err := os.Stat(cmd.Dir); err != nil {
			return nil, fmt.Errorf("starting droid: working directory: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("starting droid: working directory %s is no directory", cmd.Dir)
		}
	}
	p, stdin, err := startProcess(cmd, log)
	if err != nil {
		return nil, fmt.Errorf("starting droid %s: %w", cmd.Path, err)
	}
	return newClient(p.stdout, stdin, p, log, b), nil
}

// child is one running droid.
type child struct {
	cmd      *exec.Cmd
	log      *zap.Logger
	without  *layer.Layer     // see Command
	settings *files.Private   // nil without one
	files    []*files.Private // to close when the process is gone; settings is one of them
	stdout   *os.File
	stderr   *tail
	os       osProcess // what the operating system needs to end it

	reaped     chan struct{} // closed when Wait has returned
	gone       chan struct{} // closed when what it left has ended, too
	stderrDone chan struct{} // closed when stderr was read
	stderrPipe *os.File
}

// startProcess starts droid and returns it with its stdin.
func startProcess(cmd Command, log *zap.Logger) (*child, io.WriteCloser, error) {
	ours, theirs, err := openPipes()
	if err != nil {
		return nil, nil, err
	}
	c := exec.Command(cmd.Path, cmd.arguments()...)
	c.Dir, c.Env = cmd.Dir, cmd.environment()
	settings, files, err := giveFiles(c, cmd, log)
	if err != nil {
		closeFiles(ours[:])
		closeFiles(theirs[:])
		return nil, nil, err
	}
	c.Stdin, c.Stdout, c.Stderr = theirs[0], theirs[1], theirs[2]
	p := &child{
		cmd:        c,
		without:    cmd.Without,
		log:        log,
		settings:   settings,
		files:      files,
		stdout:     ours[1],
		stderr:     &tail{},
		reaped:     make(chan struct{}),
		gone:       make(chan struct{}),
		stderrDone: make(chan struct{}),
		stderrPipe: ours[2],
	}
	started := make(chan error, 1)
	p.guard(func() { p.run(started) }, started)
	err = <-started
	closeFiles(theirs[:])
	if err != nil {
		<-p.gone
		closeFiles(ours[:])
		return nil, nil, err
	}
	p.guard(p.readStderr, nil)
	log.Debug("droid started", zap.Int("pid", c.Process.Pid), zap.Strings("args", c.Args))
	return p, ours[0], nil
}

// giveFiles makes the files that the process is to read and names them to it. settings
// is one of them, nil without one; all are to be closed when the process is gone.
func giveFiles(c *exec.Cmd, cmd Command, log *zap.Logger) (settings *files.Private, made []*files.Private, err error) {
	if cmd.WithoutWatcher {
		c.Env = withoutWatcher(c.Env)
	}
	if cmd.SystemPrompt != "" {
		f, err := files.NewPrivate("system-prompt", []byte(cmd.SystemPrompt))
		if err != nil {
			return nil, nil, fmt.Errorf("no file for the addition to the system prompt can be made: %w", err)
		}
		c.Args, made = append(c.Args, flagSystemPrompt, f.Path), append(made, f)
	}
	if !cmd.Runtime && cmd.Without == nil {
		return nil, made, nil
	}
	content := []byte("{}")
	if cmd.Without != nil {
		content, err = strictest(Home(c.Env), *cmd.Without)
	}
	if err == nil {
		if c.Env, settings = addSettings(c.Env, content, log); settings != nil {
			return settings, append(made, settings), nil
		}
		err = noSettings(c.Env)
	}
	if cmd.Without == nil {
		return nil, made, nil
	}
	for _, f := range made {
		f.Close()
	}
	return nil, nil, err
}

// guard runs f in a goroutine of its own. A panic there ends this process alone;
// started, if somebody waits for it, gets it as an error.
func (p *child) guard(f func(), started chan<- error) {
	go func() {
		defer func() {
			r := recover()
			if r == nil {
				return
			}
			logPanic(p.log, r)
			select {
			case started <- panicError(r):
			default: // nobody waits
			}
			if p.cmd.Process != nil {
				_ = p.cmd.Process.Kill() // it may be gone
			}
		}()
		f()
	}()
}

// openPipes opens stdin, stdout and stderr. The pipes of exec.Cmd would not do:
// Wait closes them and loses the last lines.
func openPipes() (ours, theirs [3]*os.File, err error) {
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeFiles(ours[:i])
			closeFiles(theirs[:i])
			return ours, theirs, err
		}
		if i == 0 {
			ours[i], theirs[i] = w, r
		} else {
			ours[i], theirs[i] = r, w
		}
	}
	return ours, theirs, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		f.Close() // ends of pipes that nothing was written to
	}
}

// run starts the process and waits for it in one goroutine on one thread:
// Linux's parent-death signal comes when the thread that forked ends, not when
// the process does.
func (p *child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.gone)
	reaped := sync.OnceFunc(func() { close(p.reaped) })
	defer reaped()
	for _, f := range p.files {
		defer f.Close()
	}
	err := p.os.start(p.cmd)
	started <- err
	if err != nil {
		return
	}
	err = p.cmd.Wait()
	reaped()
	p.os.release()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.log.Warn("waiting for droid", zap.Error(err))
	}
}

func (p *child) readStderr() {
	defer close(p.stderrDone)
	if _, err := io.Copy(p.stderr, p.stderrPipe); err != nil && !errors.Is(err, os.ErrClosed) {
		p.log.Debug("reading droid's stderr", zap.Error(err))
	}
	p.stderrPipe.Close() // read only
}

// drainStderr waits for the rest of stderr. A child of droid may hold the pipe
// open for ever, hence the limit.
func (p *child) drainStderr(limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-p.stderrDone:
	case <-t.C:
		p.stderrPipe.Close() // ends readStderr
		<-p.stderrDone
	}
}

// exitError describes the reaped process. Its stderr goes to the user with the
// error; the log gets the number of lines alone.
func (p *child) exitError() *ExitError {
	lines, count := p.stderr.last()
	if count > 0 {
		p.log.Debug("droid wrote to stderr", zap.Int("stderrLines", count))
	}
	e := &ExitError{Code: -1, Stderr: lines}
	if s := p.cmd.ProcessState; s != nil {
		e.Code = s.ExitCode()
		e.Signal = signalName(s)
	}
	return e
}

func (p *child) isReaped() bool {
	select {
	case <-p.reaped:
		return true
	default:
		return false
	}
}
