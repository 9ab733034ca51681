//go:build unix && !linux

package droid

import (
	"os"
	"os/exec"
	"syscall"
)

// osProcess ends droid. There is no parent-death signal here: when we die,
// droid's stdin ends, and droid with it (0.05 s on 0.99, 5 s on 0.225, after
// the running turn).
type osProcess struct{ process *os.Process }

func (o *osProcess) start(c *exec.Cmd) error {
	if err := c.Start(); err != nil {
		return err
	}
	o.process = c.Process
	return nil
}

func (o *osProcess) release() {}

func (o *osProcess) terminate() error { return o.process.Signal(syscall.SIGTERM) }

func (o *osProcess) kill() error { return o.process.Kill() }
