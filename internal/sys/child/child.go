// Package child runs programs: with pipes and the end of what they write to stderr, so
// that each ends together with what it started, also when this program dies, and so that
// nobody waits for it without a bound.
//
// On Unix a program runs in a process group of its own, on Windows in a job object. A
// process that leaves its group (by starting a session or a group of its own) is out of
// reach and outlives the program, but for Command.Tree; a job cannot be left.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"droid-acp/internal/sys/files"
)

// KillTime is how long a program may live on after it was killed. One that waits for a
// file system that does not answer is not ended by anything; it is given up then.
const KillTime = 3 * time.Second

// ErrStays is the error of an Exit that did not come.
var ErrStays = errors.New("it was killed and does not end")

// Command says what is run.
type Command struct {
	Path string // of the program; a name without a separator is looked for in the PATH
	Args []string
	Line string   // for Windows: the command line as it stands, in place of Args
	Dir  string   // "" for ours
	Env  []string // nil for ours

	Stderr  io.Writer // gets what it writes there, beside the tail, and must not block; nil for nobody
	NoInput bool      // its stdin is empty
	Merged  bool      // its stderr goes where its stdout goes
	// Tree makes more than the group end. What is left in the group has a second to end
	// by itself, and when the program is told to end, all that it started ends, too, also
	// in groups of their own. Terminate asks the program alone.
	Tree bool
	// Removes are directories, by their absolute paths, that are removed on Unix when this program dies before the
	// command has ended. It is for what the command alone uses.
	Removes []string
	// NoJob lets what the program starts on Windows live on, as a browser is to.
	NoJob bool

	stat func(path string) (fs.FileInfo, error) // nil for os.Stat; tests have it hang
}

// Environment is env, or ours where it is nil, with a variable added where it has none of
// that name.
func Environment(env []string, name, value string) []string {
	if env == nil {
		env = os.Environ()
	}
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
		return env
	}
	return append(slices.Clip(env), name+"="+value)
}

// Process is a program that was started. Its methods may be called from any goroutine.
type Process struct {
	Stdin  *os.File // nil without one; to be closed by the owner, as Stdout
	Stdout io.ReadCloser

	cmd    *exec.Cmd
	family family

	stderr     Tail
	stderrPipe *os.File
	stderrRead chan struct{} // closed when stderr has ended

	waited chan error    // what Wait has returned
	exited chan struct{} // closed when the program has ended, and exit is set
	gone   chan struct{} // closed when what it left has ended, too
	asked  chan struct{} // closed by Terminate
	killed chan struct{} // closed by Kill
	ask    func()        // closes asked
	doom   func()        // closes killed
	exit   Exit
}

// Exit says how a program ended.
type Exit struct {
	Code   int      // what it exited with, −1 when a signal ended it or it is not known
	Signal string   // the name of that signal, such as "SIGKILL", "" otherwise
	Text   string   // both in words, such as "exit status 1"
	Stderr []string // the last lines that it wrote there, see Tail
	Lines  int      // how many it wrote
	Err    error    // why no more is known
}

// Start starts a program. After an error nothing runs; the error of a program that the
// system does not run is an *fs.PathError. Start returns within some seconds also where
// the program or its directory lies on a file system that does not answer.
func Start(c Command) (*Process, error) {
	cmd, err := c.prepared()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := pipes()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if c.NoInput {
		cmd.Stdin = nil
		_ = ours[0].Close() // nothing was written
		ours[0] = nil
	}
	if c.Merged {
		cmd.Stderr = theirs[1]
	}
	p := newProcess()
	p.cmd, p.Stdin, p.stderrPipe = cmd, ours[0], ours[2]
	started := make(chan error, 1)
	go p.run(c, started)
	err = <-started
	closeAll(theirs[:])
	if err != nil {
		closeAll(ours[:])
		return nil, err
	}
	p.Stdout = TakePipe(ours[1])
	go p.follow()
	go p.readStderr(c.Stderr)
	return p, nil
}

// Within waits for something, such as Exited, but not longer than limit. It reports whether it
// came.
func Within(c <-chan struct{}, limit time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(limit):
		return false
	}
}

// Pause waits for so long. It reports false, at once, where ctx is done.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func newProcess() *Process {
	p := &Process{
		stderrRead: make(chan struct{}), waited: make(chan error, 1), exited: make(chan struct{}), gone: make(chan struct{}),
		asked: make(chan struct{}), killed: make(chan struct{}),
	}
	p.ask = sync.OnceFunc(func() { close(p.asked) })
	p.doom = sync.OnceFunc(func() { close(p.killed) })
	return p
}

// prepared is the command as the system is to run it. A system call of a new process that
// hangs would stop all of this program, so nothing is started where a look at its
// directory or its file does.
func (c Command) prepared() (*exec.Cmd, error) {
	stat := c.stat
	if stat == nil {
		stat = os.Stat
	}
	if c.Dir != "" {
		info, err := look(c.Dir, stat)
		if err != nil {
			return nil, fmt.Errorf("working directory: %w", err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("working directory %s is no directory", c.Dir)
		}
	}
	path := c.Path
	if !strings.ContainsAny(path, `/\`) {
		var err error
		if path, err = Find(path); err != nil {
			return nil, err
		}
	}
	if _, err := look(path, stat); errors.Is(err, files.ErrHangs) {
		return nil, err // the system tells of other errors
	}
	path, args, err := direct(path, c.Args)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	return cmd, nil
}

// pipes opens stdin, stdout and stderr. The pipes of exec.Cmd would not do: Wait closes
// them and loses the last lines.
func pipes() (ours, theirs [3]*os.File, err error) {
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:])
			closeAll(theirs[:])
			return ours, theirs, err
		}
		ours[i], theirs[i] = r, w
		if i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	return ours, theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nil, or the end of a pipe that nothing was written to
	}
}

// run starts the program and waits for it in one goroutine on one thread: Linux's
// parent-death signal comes when the thread that forked ends, not when the process does.
// It stays behind where a program does not end.
func (p *Process) run(c Command, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.family.start(c, p.cmd)
	started <- err
	if err == nil {
		p.waited <- p.cmd.Wait()
	}
}

// lookEach is how often it is looked what a program starts that was asked to end.
const lookEach = 50 * time.Millisecond

// follow waits for the end of the program and ends what it left.
func (p *Process) follow() {
	defer close(p.gone)
	var look, overdue <-chan time.Time
	for asked, killed := p.asked, p.killed; ; {
		select {
		case <-asked:
			asked, look = nil, time.Tick(lookEach)
		case <-look:
			p.family.look()
		case <-killed:
			killed, overdue = nil, time.After(KillTime)
		case <-overdue:
			p.ended(Exit{Code: -1, Text: ErrStays.Error(), Err: ErrStays})
			return
		case err := <-p.waited:
			p.ended(exitOf(p.cmd.ProcessState, err))
			return
		}
	}
}

func (p *Process) ended(exit Exit) {
	p.exit = exit
	close(p.exited)
	p.family.end(p.killed)
}

func exitOf(state *os.ProcessState, err error) Exit {
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return Exit{Code: -1, Text: err.Error(), Err: err}
	}
	return Exit{Code: state.ExitCode(), Signal: signalName(state), Text: state.String()}
}

func (p *Process) readStderr(too io.Writer) {
	defer close(p.stderrRead)
	var to io.Writer = &p.stderr
	if too != nil {
		to = io.MultiWriter(to, too)
	}
	_, _ = io.Copy(to, p.stderrPipe) // what cannot be read is not known
	_ = p.stderrPipe.Close()         // read only
}

// Terminate asks the program and its group to end; Command.Tree: the program alone. On
// Windows, where that cannot be asked, the job ends at once, and with Command.Tree or
// Command.NoJob nothing is done.
func (p *Process) Terminate() error {
	defer p.ask()
	return p.family.terminate()
}

// Kill ends the program and what it started, at once.
func (p *Process) Kill() error {
	defer p.doom()
	return p.family.kill()
}

// KillAlone ends the program at once, and leaves what it started to end as after its own end.
func (p *Process) KillAlone() error { return p.cmd.Process.Kill() }

// Exited is closed when the program has ended, or was killed and does not end.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Gone is closed when also what it left has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Outside reports whether something that the program has started runs in another process
// group than the program's. It reports true where the system cannot tell.
func (p *Process) Outside() bool { return p.family.outside() }

// ID is the program's process id.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Exit waits for the end of the program and says how it ended. The rest of stderr is
// waited for, but no longer than limit: what the program started may hold it open.
func (p *Process) Exit(limit time.Duration) Exit {
	<-p.exited
	if !Within(p.stderrRead, limit) {
		_ = p.stderrPipe.Close() // ends readStderr
		<-p.stderrRead
	}
	exit := p.exit
	exit.Stderr, exit.Lines = p.stderr.Last()
	return exit
}

// lookTime is how long a file system may take to tell of a file. It is asked before a process is made: one
// that hangs on its way into a directory would stop all of this program, as Go starts processes by vfork.
const lookTime = 3 * time.Second

// ErrNotFound says that a program is not in the PATH.
var ErrNotFound = exec.ErrNotFound

// FindError is the error of Find, unless that gave up.
type FindError = exec.Error

// Find looks for a program, as exec.LookPath does, and gives up where a directory of the
// PATH does not answer (files.ErrHangs).
func Find(name string) (string, error) { return look(name, exec.LookPath) }

// look calls what may hang. A call that does keeps its goroutine, and so does each later one.
func look[T any](path string, f func(path string) (T, error)) (T, error) {
	return files.Within(context.Background(), files.NewCalls(1, lookTime), "look for a program", path, f)
}
