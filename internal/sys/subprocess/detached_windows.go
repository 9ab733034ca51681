package subprocess

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// startDetached starts cmd without a console. If our parent's job ends with the parent, cmd leaves it (CREATE_BREAKAWAY_FROM_JOB) where the
// job permits that; otherwise cmd ends with it.
func startDetached(cmd *exec.Cmd) error {
	const flags = windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP
	again := *cmd
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: flags | windows.CREATE_BREAKAWAY_FROM_JOB}
	err := cmd.Start()
	if err == nil {
		return nil
	}
	*cmd = again
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: flags}
	return cmd.Start()
}
