//go:build unix

package child

import (
	"maps"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guardScript is what the guard runs: it waits for the end of its input, asks its process group to end, so that the
// program can end what it has started in groups of their own, and two seconds later kills it, itself included. Before that
// it removes the directories that it was given. The input ends when our process dies, however it dies. The guard ignores the polite signals that terminate sends, and
// writes a line when it does.
const guardScript = `trap '' HUP INT TERM; echo; read -r end; kill -s TERM 0; sleep 2; rm -rf -- "$@"; kill -s KILL 0`

// family is a program with the processes that it started.
//
// The leader of their process group is a guard, a second child of ours. Linux's
// parent-death signal would not do instead: it ends the program alone and not what
// that started, and other systems have no such signal. It is no group of ours, so that a
// signal to our group lets the program end in peace. Where there is no guard, as without
// a shell in the PATH, the program runs in our group.
type family struct {
	tree bool // see Command

	mu      sync.Mutex
	process *os.Process
	guard   *exec.Cmd // nil without one
	alive   *os.File  // our end of the guard's input
	below   tree      // Command.Tree: what the program had started since it was told to end
}

// start starts cmd. After an error nothing runs. The signal to end, on Linux, comes when
// the starting thread ends.
func (f *family) start(c Command, cmd *exec.Cmd) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tree, f.below = c.Tree, tree{}
	endWithThread(cmd.SysProcAttr, syscall.SIGKILL)
	if guard, alive, err := startGuard(c.Removes); err == nil {
		f.guard, f.alive = guard, alive
		cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pgid = true, guard.Process.Pid
		endWithThread(cmd.SysProcAttr, syscall.SIGTERM) // the guard sees to the rest
	}
	if err := cmd.Start(); err != nil {
		f.close()
		return err
	}
	f.process = cmd.Process
	return nil
}

// startGuard starts a guard and waits until it ignores polite signals. The guard
// lives until it is killed or alive is closed; then it removes the directories.
func startGuard(removes []string) (guard *exec.Cmd, alive *os.File, err error) {
	shell, err := Find("sh")
	if err != nil {
		return nil, nil, err
	}
	input, alive, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer input.Close() // the guard has its own
	guard = exec.Command(shell, append([]string{"-c", guardScript, "sh"}, removes...)...)
	guard.Stdin = input
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ready, err := guard.StdoutPipe()
	if err == nil {
		err = guard.Start()
	}
	if err != nil {
		_ = alive.Close()
		return nil, nil, err
	}
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		_ = alive.Close()
		_ = guard.Process.Kill() // it may have ended by itself
		_ = guard.Wait()         // killed
		return nil, nil, err
	}
	return guard, alive, nil
}

// signal reaches the whole group, or the program where it has none. The group's id is the
// guard's process id, which no other process can get before close has waited for the guard.
func (f *family) signal(s syscall.Signal) error {
	if f.guard == nil {
		return f.process.Signal(s)
	}
	return syscall.Kill(-f.guard.Process.Pid, s)
}

func (f *family) close() {
	if f.guard == nil {
		return
	}
	_ = f.signal(syscall.SIGKILL) // the guard is there to be hit, or is dead and not waited for
	_ = f.guard.Wait()            // killed
	_ = f.alive.Close()
	f.guard = nil
}

func (f *family) terminate() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.tree {
		return f.signal(syscall.SIGTERM)
	}
	if err := f.process.Signal(syscall.Signal(0)); err != nil {
		return err
	}
	_, _ = f.below.grow(f.process.Pid) // what the system does not tell is not found
	return f.process.Signal(syscall.SIGTERM)
}

// look notes what the program has started meanwhile.
func (f *family) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tree && f.process.Signal(syscall.Signal(0)) == nil {
		_, _ = f.below.grow(f.process.Pid)
	}
}

// kill ends the program. One with a tree is stopped first, so that it starts nothing more
// while its descendants are looked for.
func (f *family) kill() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.tree {
		return f.signal(syscall.SIGKILL)
	}
	if err := f.process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	f.below.kill(f.process.Pid)
	return f.process.Kill()
}

// What a program with a tree leaves in its process group gets this time to end by itself,
// at the end of its input as MCP servers do, and as much again when it was asked to.
const leftTime = 500 * time.Millisecond

// end ends what a program that is gone has left, and returns when that is gone. It waits
// for nothing when hurry is closed.
func (f *family) end(hurry <-chan struct{}) {
	if f.tree {
		f.mu.Lock()
		f.below.kill(0)
		f.mu.Unlock()
		if f.left(leftTime, hurry) {
			f.mu.Lock()
			_ = f.signal(syscall.SIGTERM) // it may be gone by now
			f.mu.Unlock()
			f.left(leftTime, hurry)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.close()
}

// left reports whether somebody is left in the group after this time. It waits no longer
// than it must.
func (f *family) left(limit time.Duration, hurry <-chan struct{}) bool {
	f.mu.Lock()
	guard := f.guard
	f.mu.Unlock()
	for pause, waited := 5*time.Millisecond, time.Duration(0); guard != nil && inGroup(guard.Process.Pid); pause *= 2 {
		if waited >= limit {
			return true
		}
		waited += pause
		select {
		case <-hurry:
			return true
		case <-time.After(pause):
		}
	}
	return false
}

// inGroup reports whether a process group has a member that lives, besides the guard,
// whose id it has. Where the system cannot tell, it may have.
func inGroup(id int) bool {
	all, err := processes()
	for _, r := range all {
		if r.group == id && r.pid != id && !r.dead {
			return true
		}
	}
	return err != nil
}

func (f *family) outside() bool {
	own, err := unix.Getpgid(f.process.Pid)
	if err != nil {
		return false // it has ended
	}
	started := tree{}
	if _, err := started.grow(f.process.Pid); err != nil {
		return true
	}
	maps.DeleteFunc(started, func(_ int, r relative) bool { return r.group == own })
	return len(started) > 0
}

// signalName names the signal that ended the process.
func signalName(s *os.ProcessState) string {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return unix.SignalName(ws.Signal())
	}
	return ""
}
