//go:build unix

package login

import (
	"os/exec"

	"droid-acp/internal/procgroup"
)

// family is droid and what it started. A browser is none of it: droid starts that in a
// session of its own.
type family struct{ group procgroup.Group }

func (f *family) start(cmd *exec.Cmd) error { return f.group.Start(cmd) }

func (f *family) terminate() { _ = f.group.Terminate() } // it may be gone

func (f *family) kill() { f.group.Close() }

func (f *family) close() { f.group.Close() }
