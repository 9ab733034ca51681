package shell

import (
	"context"
	"os/exec"
	"syscall"
)

// process runs a command as it was typed: /S makes cmd take off the outer quotes
// and nothing else.
func process(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /S /C "` + command + `"`}
	return cmd
}
