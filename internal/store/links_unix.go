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
// is closed. With a *lockError there is the file, and no lock to be had.
func (s *Store) openLocked(path string, deadline time.Time) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = s.flock(f, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && stillAt(f, path) {
			return f, nil
		}
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
			return f, &lockError{err}
		}
		_ = f.Close() // another process has the lock, or replaced the file meanwhile
		switch {
		case !time.Now().Before(deadline):
			return nil, errLinksBusy
		case err != nil:
			time.Sleep(lockPause)
		}
	}
}
