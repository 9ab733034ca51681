package files

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// ErrHeld means that another process, or another open file of this one, holds the lock. Any other error of Locks means that this is
// unknown.
var ErrHeld = errors.New("somebody else has locked it")

// NoLocksError means that the file system does not support locks, such as NFS without its lock service and some FUSE file systems.
type NoLocksError struct{ Err error }

// Error returns the system's message.
func (e *NoLocksError) Error() string { return e.Err.Error() }

// Unwrap returns the system's error.
func (e *NoLocksError) Unwrap() error { return e.Err }

// Locks locks files across all processes of the machine. A lock ends with its process. Callers must distinguish ErrHeld from other errors.
// The zero value is ready to use.
type Locks struct {
	Fault func() error // for tests: returns why locking fails; may be nil
}

const (
	lockPause = 5 * time.Millisecond // between two attempts
	lockTries = 1000                 // attempts to lock a file that is removed repeatedly
	probeWait = 2 * time.Second      // limit for probing whether a file is shared
)

// fault returns the error that a test injects instead of a lock.
func (l Locks) fault() error {
	if l.Fault == nil {
		return nil
	}
	if err := l.Fault(); err != nil {
		return &NoLocksError{err}
	}
	return nil
}

// IsAt reports whether path names the open file and is not a symbolic link.
func IsAt(file *os.File, path string) bool {
	here, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(here, there)
}

// TakeWait is Take, but waits up to wait for the lock.
func (l Locks) TakeWait(path string, wait time.Duration) (*os.File, error) {
	for until := time.Now().Add(wait); ; time.Sleep(lockPause) {
		file, err := l.Take(path)
		if !errors.Is(err, ErrHeld) || !time.Now().Before(until) {
			return file, err
		}
	}
}

// InUse reports whether any process has a file in use by Share. The error means that this is unknown. Shared removes files of processes
// that have died.
func (l Locks) InUse(path string) (shared bool, err error) {
	l.probe(filepath.Dir(path), func() { shared, err = l.inUse(path) })
	return shared, err
}

// Sweep removes files in dir left by processes that have died, looking at no more than most entries.
func (l Locks) Sweep(dir string, most int) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	names, _ := d.Readdirnames(most) // unreadable entries stay
	_ = d.Close()
	l.probe(dir, func() {
		for _, name := range names {
			_, _ = l.inUse(filepath.Join(dir, name)) // files in doubt stay
		}
	})
}
