//go:build unix

package subprocess

import (
	"maps"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guardScript is run by the guard. It waits for the end of its input, which comes when our process dies, however that happens. Then it
// sends SIGTERM to its process group, so that the program can end what it started in other groups, and two seconds later removes the given
// directories and kills the group, itself included. It ignores SIGHUP, SIGINT and SIGTERM, and writes a line once it does.
const guardScript = `trap '' HUP INT TERM; echo; read -r end; kill -s TERM 0; sleep 2; rm -rf -- "$@"; kill -s KILL 0`

// programGroup is a program with its process group.
//
// The group's leader is a guard, a second child of ours. Linux's parent-death signal is not enough: it ends the program but not its
// descendants, and other systems have none. It is not our own group, so that a signal to ours lets the program shut down in order. Without
// a guard, for example if there is no shell in the PATH, the program runs in our group.
type programGroup struct {
	tree bool // Command.Tree

	mu          sync.Mutex
	process     *os.Process
	guard       *exec.Cmd   // nil without one
	alive       *os.File    // write end of the guard's stdin
	descendants descendants // Command.Tree: descendants seen since the program was asked to end
}

// start starts cmd. If it returns an error, nothing is running. On Linux the program is signalled when the calling thread ends.
func (f *programGroup) start(c Command, cmd *exec.Cmd) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tree, f.descendants = c.Tree, descendants{}
	setParentDeathSignal(cmd.SysProcAttr, syscall.SIGKILL)
	if guard, alive, err := startGuard(c.RemoveOnDeath); err == nil {
		f.guard, f.alive = guard, alive
		cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pgid = true, guard.Process.Pid
		setParentDeathSignal(cmd.SysProcAttr, syscall.SIGTERM) // the guard ends the rest
	}
	if err := cmd.Start(); err != nil {
		f.close()
		return err
	}
	f.process = cmd.Process
	return nil
}

// startGuard starts a guard and waits until it ignores signals. The guard runs until it is killed, or until alive is closed; then it also
// removes the directories.
func startGuard(removes []string) (guard *exec.Cmd, alive *os.File, err error) {
	shell, err := LookPath("sh")
	if err != nil {
		return nil, nil, err
	}
	input, alive, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer input.Close() // the guard has its own copy
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

// signal signals the whole group, or only the program if there is no guard. The group ID is the guard's process ID, which cannot be reused
// before close has waited for the guard.
func (f *programGroup) signal(s syscall.Signal) error {
	if f.guard == nil {
		return f.process.Signal(s)
	}
	return syscall.Kill(-f.guard.Process.Pid, s)
}

func (f *programGroup) close() {
	if f.guard == nil {
		return
	}
	_ = f.signal(syscall.SIGKILL) // the guard runs or is a zombie, so its ID is still ours
	_ = f.guard.Wait()            // killed
	_ = f.alive.Close()
	f.guard = nil
}

func (f *programGroup) terminate() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.tree {
		return f.signal(syscall.SIGTERM)
	}
	if err := f.process.Signal(syscall.Signal(0)); err != nil {
		return err
	}
	_, _ = f.descendants.grow(f.process.Pid) // best effort
	return f.process.Signal(syscall.SIGTERM)
}

// recordDescendants records the descendants that the program has now.
func (f *programGroup) recordDescendants() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tree && f.process.Signal(syscall.Signal(0)) == nil {
		_, _ = f.descendants.grow(f.process.Pid)
	}
}

// kill kills the program. With Command.Tree the program is stopped first, so that it starts nothing while its descendants are listed.
func (f *programGroup) kill() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.tree {
		return f.signal(syscall.SIGKILL)
	}
	if err := f.process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	f.descendants.kill(f.process.Pid)
	return f.process.Kill()
}

// groupExitTime is how long the rest of a tree's process group may take to exit by itself, as MCP servers do at the end of their input, and
// again after SIGTERM.
const groupExitTime = 500 * time.Millisecond

// endRest ends the rest of the group of a program that has exited, and returns when it is gone. If hurry is closed, it does not wait.
func (f *programGroup) endRest(hurry <-chan struct{}) {
	if f.tree {
		f.mu.Lock()
		f.descendants.kill(0)
		f.mu.Unlock()
		if f.waitEmpty(groupExitTime, hurry) {
			f.mu.Lock()
			_ = f.signal(syscall.SIGTERM) // it may have exited
			f.mu.Unlock()
			f.waitEmpty(groupExitTime, hurry)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.close()
}

// waitEmpty waits up to limit for the group to be empty, and reports whether anything is left in it.
func (f *programGroup) waitEmpty(limit time.Duration, hurry <-chan struct{}) bool {
	f.mu.Lock()
	guard := f.guard
	f.mu.Unlock()
	for pause, waited := 5*time.Millisecond, time.Duration(0); guard != nil && groupHasMembers(guard.Process.Pid); pause *= 2 {
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

// groupHasMembers reports whether a process group has a live member other than the guard, its leader. It returns true if that is unknown.
func groupHasMembers(id int) bool {
	all, err := processes()
	for _, r := range all {
		if r.group == id && r.pid != id && !r.dead {
			return true
		}
	}
	return err != nil
}

func (f *programGroup) hasEscaped() bool {
	own, err := unix.Getpgid(f.process.Pid)
	if err != nil {
		return false // it has exited
	}
	started := descendants{}
	if _, err := started.grow(f.process.Pid); err != nil {
		return true
	}
	maps.DeleteFunc(started, func(_ int, r processInfo) bool { return r.group == own })
	return len(started) > 0
}

// signalName returns the name of the signal that ended the process, or "".
func signalName(s *os.ProcessState) string {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return unix.SignalName(ws.Signal())
	}
	return ""
}
