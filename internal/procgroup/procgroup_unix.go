//go:build unix

package procgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// guardScript is what the guard runs: it waits for the end of its input and then
// kills its process group, itself included. The input ends when our process dies,
// however it dies. The guard ignores the polite signals that Terminate sends, and
// writes a line when it does.
const guardScript = `trap '' HUP INT TERM; echo; read -r end; kill -s KILL 0`

// ErrGuard is why nothing was started: there is no guard for the group.
var ErrGuard = errors.New("starting the guard of a process group")

// Group is one command with the processes that it started. The zero value is
// ready for Start. All methods may be called from several goroutines.
//
// The leader of the process group is a guard, a second child of ours. Linux's
// parent-death signal would not do instead: it ends the command alone and not what
// that started, and other systems have no such signal.
type Group struct {
	mu    sync.Mutex
	guard *exec.Cmd // nil before Start and after Close
	alive *os.File  // our end of the guard's input
}

// Start starts cmd in a new group. After an error nothing runs and the group
// needs no Close. A group is started once.
func (g *Group) Start(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	guard, alive, err := startGuard()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGuard, err)
	}
	g.guard, g.alive = guard, alive
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pgid = true, guard.Process.Pid
	if err := cmd.Start(); err != nil {
		g.close()
		return err
	}
	return nil
}

// startGuard starts a guard and waits until it ignores polite signals. The guard
// lives until it is killed or alive is closed.
func startGuard() (guard *exec.Cmd, alive *os.File, err error) {
	input, alive, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer input.Close() // the guard has its own
	guard = exec.Command("sh", "-c", guardScript)
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

// ID is the id of the process group, which is the guard's process id. It is 0 before
// Start and after Close.
func (g *Group) ID() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.guard == nil {
		return 0
	}
	return g.guard.Process.Pid
}

// Terminate asks the processes of the group to end, with SIGTERM. Before Start and
// after Close it returns os.ErrProcessDone.
func (g *Group) Terminate() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.guard == nil {
		return os.ErrProcessDone
	}
	return g.signal(syscall.SIGTERM)
}

// Close kills what is left of the group, the command included if it still runs.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.guard != nil {
		g.close()
	}
}

func (g *Group) close() {
	_ = g.signal(syscall.SIGKILL) // the guard is there to be hit, or is dead and not waited for
	_ = g.guard.Wait()            // killed
	_ = g.alive.Close()
	g.guard = nil
}

// signal reaches the whole group. The group's id is the guard's process id, which
// no other process can get before Close has waited for the guard.
func (g *Group) signal(s syscall.Signal) error { return syscall.Kill(-g.guard.Process.Pid, s) }
