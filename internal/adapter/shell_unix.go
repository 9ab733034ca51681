//go:build unix

package adapter

import (
	"context"
	"os/exec"
	"syscall"
)

// shellProcess runs a command in a process group of its own.
func shellProcess(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// processGroup is a command with what it started. A process that makes a session
// of its own leaves it.
type processGroup struct{ cmd *exec.Cmd }

func (g *processGroup) start(cmd *exec.Cmd) error {
	g.cmd = cmd
	return cmd.Start()
}

// terminate asks the group to end.
func (g *processGroup) terminate() error { return syscall.Kill(-g.cmd.Process.Pid, syscall.SIGTERM) }

// kill ends what is left of the group. Its id is not given to another one while
// a process is left; where none is, there is no such group.
func (g *processGroup) kill() { _ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) }
