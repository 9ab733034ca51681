//go:build unix

package child

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// inherited is how many descriptors are looked at: those that an editor leaves open by mistake
// have small numbers.
const inherited = 256

// startDetached starts cmd in a session of its own. What our parent left open for us is not for
// it: it would hold a pipe open whose end somebody waits for.
func startDetached(cmd *exec.Cmd) error {
	for fd := 3; fd < inherited; fd++ {
		unix.CloseOnExec(fd) // no effect where there is none
	}
	cmd.SysProcAttr.Setsid = true
	return cmd.Start()
}
