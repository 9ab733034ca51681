//go:build unix

package subprocess

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// maxInheritedFD is the number of descriptors to check: those that an editor leaks by mistake have small numbers.
const maxInheritedFD = 256

// startDetached starts cmd in a new session. It does not pass on descriptors leaked by our parent, since cmd would keep pipes open whose
// end others wait for.
func startDetached(cmd *exec.Cmd) error {
	for fd := 3; fd < maxInheritedFD; fd++ {
		unix.CloseOnExec(fd) // no effect where there is none
	}
	cmd.SysProcAttr.Setsid = true
	return cmd.Start()
}
