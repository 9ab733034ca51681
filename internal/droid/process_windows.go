package droid

import (
	"os"
	"os/exec"

	"droid-acp/internal/procgroup"
)

// osProcess ends droid with all that it started. droid is put into a group right
// after its start; it starts nothing itself for a quarter of a second.
type osProcess struct{ group procgroup.Group }

func (o *osProcess) start(c *exec.Cmd) error { return o.group.Start(c) }

// release ends what droid left running.
func (o *osProcess) release() { o.group.Close() }

// terminate does nothing: Windows has no signal that a program without a
// console can be asked to end with.
func (o *osProcess) terminate() error { return nil }

func (o *osProcess) kill() error { return o.group.Terminate() }

// signalName is empty: nothing is ended by signals here.
func signalName(*os.ProcessState) string { return "" }
