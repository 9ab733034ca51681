package login

import (
	"os"
	"os/exec"
)

// family is droid alone. A job object would end the browser that droid opens, too.
type family struct{ process *os.Process }

func (f *family) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	f.process = cmd.Process
	return nil
}

// terminate does nothing: there is no signal for it.
func (f *family) terminate() {}

func (f *family) kill() { _ = f.process.Kill() } // it may be gone

func (f *family) close() {}
