//go:build unix

package adapter

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// shellProcess is a command that runs in the process group of its guard.
func shellProcess(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", command)
}

// guardScript waits for the end of its input, which comes when we die, however we
// do, and ends its process group. It outlives the polite signals of a cancel.
// It says when it no longer hears them.
const guardScript = `trap '' HUP INT TERM; echo; read -r end; kill -s KILL 0`

// processGroup is a command with what it started. A process that makes a session
// or a group of its own leaves it, and then outlives us.
//
// The group's leader is a guard. Linux's parent-death signal would not do: it
// ends the command alone and not what that started, and other systems have none.
type processGroup struct {
	guard *exec.Cmd
	alive *os.File // the guard's input; it ends with us
}

func (g *processGroup) start(cmd *exec.Cmd) error {
	input, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	guard := exec.Command("sh", "-c", guardScript)
	guard.Stdin = input
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ready, err := guard.StdoutPipe()
	if err == nil {
		err = guard.Start()
	}
	_ = input.Close() // the guard has its own
	if err != nil {
		_ = alive.Close()
		return err
	}
	g.guard, g.alive = guard, alive
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		g.kill()
		return fmt.Errorf("starting the guard of its processes: %w", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: guard.Process.Pid}
	if err := cmd.Start(); err != nil {
		g.kill()
		return err
	}
	return nil
}

// terminate asks the group to end.
func (g *processGroup) terminate() error { return g.signal(syscall.SIGTERM) }

// kill ends what is left of the group, and the guard with it.
func (g *processGroup) kill() {
	_ = g.signal(syscall.SIGKILL) // the guard is there, or its body
	_ = g.guard.Wait()            // killed
	_ = g.alive.Close()
}

// signal reaches the whole group. Its id is that of the guard, so nobody else has
// it before kill has waited for the guard.
func (g *processGroup) signal(s syscall.Signal) error { return syscall.Kill(-g.guard.Process.Pid, s) }
