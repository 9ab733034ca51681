//go:build unix && !linux

package droid

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// osProcess ends droid and what is in its process group, see family. There is no
// parent-death signal here: when we die, the guard of that group ends it.
type osProcess struct {
	family
	process *os.Process
}

func (o *osProcess) start(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{}
	if err := o.family.start(c); err != nil {
		return err
	}
	o.process = c.Process
	return nil
}

func (o *osProcess) release() { o.family.end() }

func (o *osProcess) terminate() error { return o.process.Signal(syscall.SIGTERM) }

func (o *osProcess) kill() error {
	o.atOnce()
	return o.process.Kill()
}

// inGroup reports whether a process group has a member that lives, besides the guard,
// whose id it has. Where ps cannot tell, it may have.
func inGroup(id int) bool {
	out, err := exec.Command("ps", "-axo", "pid=,pgid=,stat=").Output()
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] != strconv.Itoa(id) && f[1] == strconv.Itoa(id) && !strings.HasPrefix(f[2], "Z") {
			return true
		}
	}
	return false
}
