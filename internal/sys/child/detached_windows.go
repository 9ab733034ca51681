package child

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// startDetached starts cmd without a console. A job of our parent's that ends with the parent may
// let processes leave it (CREATE_BREAKAWAY_FROM_JOB); where it does not, cmd ends with it.
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
