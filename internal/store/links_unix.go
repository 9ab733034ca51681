//go:build unix

package store

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// canReplace says whether a file that others may have open can be replaced.
const canReplace = true

// lockPause is how long openLocked waits before it tries again.
const lockPause = 5 * time.Millisecond

// openLocked opens a file to append to it, makes it if need be, and locks it until it
// is closed.
func openLocked(path string, deadline time.Time) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && stillAt(f, path) {
			return f, nil
		}
		_ = f.Close() // another process has the lock, or replaced the file meanwhile
		switch {
		case err != nil && !errors.Is(err, unix.EWOULDBLOCK):
			return nil, err
		case !time.Now().Before(deadline):
			return nil, errLinksBusy
		case err != nil:
			time.Sleep(lockPause)
		}
	}
}
