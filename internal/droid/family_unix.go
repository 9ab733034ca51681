//go:build unix

package droid

import (
	"errors"
	"os/exec"
	"sync"
	"time"

	"droid-acp/internal/procgroup"
)

// What droid leaves in its process group gets this time to end by itself, at the end of
// its input as MCP servers do, and as much again when it was asked to.
const leftTime = 500 * time.Millisecond

// family is droid with what it starts in its own process group: MCP servers, and the
// hooks of 0.99. It is no group of ours, so that all of it ends with us, however we end,
// and a signal to our group lets droid end in peace.
//
// What droid puts into sessions of their own is not in it: tools, and the hooks of 0.225.
type family struct {
	group procgroup.Group
	haste sync.Once
	hurry chan struct{} // closed when nothing of it is to be waited for
}

// start starts droid. Where there is no guard for a group, as without a shell in the
// PATH, droid runs in ours.
func (f *family) start(c *exec.Cmd) error {
	f.hurry = make(chan struct{})
	err := f.group.Start(c)
	if errors.Is(err, procgroup.ErrGuard) {
		c.SysProcAttr.Setpgid = false
		return c.Start()
	}
	return err
}

// atOnce makes end wait for nothing.
func (f *family) atOnce() { f.haste.Do(func() { close(f.hurry) }) }

// end ends what a droid that is gone has left, and returns when it is gone.
func (f *family) end() {
	if f.left(leftTime) {
		_ = f.group.Terminate() // it may be gone by now
		f.left(leftTime)
	}
	f.group.Close()
}

// left reports whether somebody is left in the group after this time. It waits no longer
// than it must.
func (f *family) left(limit time.Duration) bool {
	id := f.group.ID()
	for pause, waited := 5*time.Millisecond, time.Duration(0); id != 0 && inGroup(id); pause *= 2 {
		if waited >= limit {
			return true
		}
		waited += pause
		t := time.NewTimer(pause)
		select {
		case <-f.hurry:
			t.Stop()
			return true
		case <-t.C:
		}
	}
	return false
}
