// Package subprocess runs programs. The main type is Process: a started program with its pipes and the last lines of its stderr. A program ends
// together with the processes that it started, even if this process dies, and every wait for it is bounded. Everything that runs droid, a
// shell or ssh uses it.
//
// On Unix a program runs in its own process group, on Windows in a job object. A process that leaves its group outlives the program unless
// Command.Tree is set; a job cannot be left.
package subprocess

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

// killTimeout is how long to wait for a killed program to exit. A program blocked on a file system that does not answer survives even SIGKILL;
// after killTimeout it is abandoned.
const killTimeout = 3 * time.Second

// errNotExited is the Exit.Err of a program that did not exit within killTimeout.
var errNotExited = errors.New("it was killed and does not end")

// ErrDir means that a program was not started because of its working directory. The error also wraps the cause.
var ErrDir = errors.New("working directory")

// Command describes a program to run.
type Command struct {
	Path    string // of the program; looked up in the PATH if it has no separator
	Args    []string
	CmdLine string   // Windows only: the verbatim command line, instead of Args
	Dir     string   // "" for the current one
	Env     []string // nil for the current one

	Stderr      io.Writer // also receives stderr, and must not block; may be nil
	NoInput     bool      // its stdin is empty
	MergeStderr bool      // stderr goes to stdout
	// Tree ends all descendants, including those in other process groups, when the program is asked to end. What remains in the program's
	// group gets a second to exit by itself. Terminate then signals the program alone.
	Tree bool
	// RemoveOnDeath lists absolute paths of directories used by this command alone. On Unix they are removed if this process dies before the
	// command has ended.
	RemoveOnDeath []string
	// NoJob lets descendants outlive the program on Windows, as a browser must.
	NoJob bool

	stat func(path string) (fs.FileInfo, error) // nil for os.Stat; tests replace it with one that hangs
}

// WithDefaultEnv returns env (the current environment if nil) with a variable added unless it is already set.
func WithDefaultEnv(env []string, name, value string) []string {
	if env == nil {
		env = os.Environ()
	}
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
		return env
	}
	return append(slices.Clip(env), name+"="+value)
}

// Process is a started program. Its methods may be called from any goroutine.
type Process struct {
	Stdin  *os.File // nil without one; the caller closes it, as well as Stdout
	Stdout io.ReadCloser

	cmd   *exec.Cmd
	group programGroup

	stderr     Tail
	stderrPipe *os.File
	stderrRead chan struct{} // closed when stderr has ended

	waited          chan error    // receives the result of Wait
	exited          chan struct{} // closed when the program has exited and exit is set
	allExited       chan struct{} // closed when the rest of its group or tree has exited, too
	terminated      chan struct{} // closed by Terminate
	killed          chan struct{} // closed by Kill
	closeTerminated func()        // closes asked
	closeKilled     func()        // closes killed
	exit            Exit
}

// Exit says how a program ended.
type Exit struct {
	Code      int      // exit code, −1 if a signal ended it or the code is unknown
	Signal    string   // name of that signal, such as "SIGKILL", or ""
	Text      string   // human-readable form, such as "exit status 1"
	Stderr    []string // last lines of stderr, see Tail
	LineCount int      // number of lines written to stderr
	Err       error    // why the result is unknown
}

// Start starts a program. If it returns an error, nothing is running; if the system refuses to run the program, the error is an
// *fs.PathError. Start returns within seconds even if the program or its directory is on a file system that does not answer.
func Start(c Command) (*Process, error) {
	cmd, err := c.execCmd()
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
	if c.MergeStderr {
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
	p.Stdout = newPipeReader(ours[1])
	go p.follow()
	go p.readStderr(c.Stderr)
	return p, nil
}

// WaitTimeout waits at most limit for c to be closed, and reports whether it was.
func WaitTimeout(c <-chan struct{}, limit time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(limit):
		return false
	}
}

// Sleep sleeps for d. It returns false as soon as ctx is done.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func newProcess() *Process {
	p := &Process{
		stderrRead: make(chan struct{}), waited: make(chan error, 1), exited: make(chan struct{}), allExited: make(chan struct{}),
		terminated: make(chan struct{}), killed: make(chan struct{}),
	}
	p.closeTerminated = sync.OnceFunc(func() { close(p.terminated) })
	p.closeKilled = sync.OnceFunc(func() { close(p.killed) })
	return p
}

// execCmd converts c to an exec.Cmd. If a system call of the new process hung, it would stop all of this program, so a directory or file
// that does not answer is an error here.
func (c Command) execCmd() (*exec.Cmd, error) {
	stat := c.stat
	if stat == nil {
		stat = os.Stat
	}
	if c.Dir != "" {
		info, err := callBounded(c.Dir, stat)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDir, err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%w: %w", ErrDir, &fs.PathError{Op: "chdir", Path: c.Dir, Err: syscall.ENOTDIR})
		}
	}
	path := c.Path
	if !strings.ContainsAny(path, `/\`) {
		var err error
		if path, err = LookPath(path); err != nil {
			return nil, err
		}
	}
	if _, err := callBounded(path, stat); errors.Is(err, files.ErrHangs) {
		return nil, err // Start reports other errors
	}
	path, args, err := resolveBatchFile(path, c.Args)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	return cmd, nil
}

// pipes opens stdin, stdout and stderr. The pipes of exec.Cmd are unsuitable: Wait closes them and loses the last lines.
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

// run starts the program and waits for it on one locked thread, because Linux sends the parent-death signal when the forking thread ends,
// not the process. The goroutine leaks if the program does not exit.
func (p *Process) run(c Command, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.group.start(c, p.cmd)
	started <- err
	if err == nil {
		p.waited <- p.cmd.Wait()
	}
}

// recordInterval is the interval at which the descendants of a terminating program are listed.
const recordInterval = 50 * time.Millisecond

// follow waits for the program to exit and ends the processes that it left.
func (p *Process) follow() {
	defer close(p.allExited)
	var look, overdue <-chan time.Time
	for asked, killed := p.terminated, p.killed; ; {
		select {
		case <-asked:
			asked, look = nil, time.Tick(recordInterval)
		case <-look:
			p.group.recordDescendants()
		case <-killed:
			killed, overdue = nil, time.After(killTimeout)
		case <-overdue:
			p.setExit(Exit{Code: -1, Text: errNotExited.Error(), Err: errNotExited})
			return
		case err := <-p.waited:
			p.setExit(exitOf(p.cmd.ProcessState, err))
			return
		}
	}
}

func (p *Process) setExit(exit Exit) {
	p.exit = exit
	close(p.exited)
	p.group.endRest(p.killed)
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
	_, _ = io.Copy(to, p.stderrPipe) // a read error loses only diagnostics
	_ = p.stderrPipe.Close()         // read only
}

// Terminate asks the program and its group to end, or only the program if Command.Tree is set. On Windows, which has no such request, the
// job is killed at once; with Command.Tree or Command.NoJob nothing happens.
func (p *Process) Terminate() error {
	defer p.closeTerminated()
	return p.group.terminate()
}

// Kill kills the program and its descendants at once.
func (p *Process) Kill() error {
	defer p.closeKilled()
	return p.group.kill()
}

// KillProgram kills the program at once. Its descendants are treated as after a normal exit.
func (p *Process) KillProgram() error { return p.cmd.Process.Kill() }

// Exited is closed when the program has exited, or was killed and did not exit within killTimeout.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// AllExited is closed when the processes that the program left have exited, too.
func (p *Process) AllExited() <-chan struct{} { return p.allExited }

// HasEscaped reports whether a descendant runs in another process group than the program. It returns true if that is unknown.
func (p *Process) HasEscaped() bool { return p.group.hasEscaped() }

// ID returns the process ID.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Exit waits for the program to exit and returns how it ended. It waits at most limit for the rest of stderr, which a descendant may hold
// open.
func (p *Process) Exit(limit time.Duration) Exit {
	<-p.exited
	if !WaitTimeout(p.stderrRead, limit) {
		_ = p.stderrPipe.Close() // ends readStderr
		<-p.stderrRead
	}
	exit := p.exit
	exit.Stderr, exit.LineCount = p.stderr.Lines()
	return exit
}

// statTimeout is how long a file system may take to answer a stat. This is checked before a process is made: since Go starts processes by
// vfork, a chdir that hangs would stop all of this program.
const statTimeout = 3 * time.Second

// ErrNotFound means that a program is not in the PATH.
var ErrNotFound = exec.ErrNotFound

// LookPathError is the error type of LookPath, except for files.ErrHangs.
type LookPathError = exec.Error

// LookPath is exec.LookPath, but fails with files.ErrHangs if a directory of the PATH does not answer.
func LookPath(name string) (string, error) { return callBounded(name, exec.LookPath) }

// callBounded calls f, which may hang. A call that hangs leaks its goroutine.
func callBounded[T any](path string, f func(path string) (T, error)) (T, error) {
	return files.CallBounded(context.Background(), files.NewCallLimiter(1, statTimeout), "look for a program", path, f)
}
