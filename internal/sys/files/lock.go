package files

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// ErrHeld says that somebody else has a file locked. Any other error of Locks says that it
// cannot be known whether somebody has.
var ErrHeld = errors.New("somebody else has locked it")

// NoLocksError says that nobody can lock files where this one is: NFS without its lock
// service, some file systems of FUSE.
type NoLocksError struct{ Err error }

// Error is the system's.
func (e *NoLocksError) Error() string { return e.Err.Error() }

// Unwrap returns the system's error.
func (e *NoLocksError) Unwrap() error { return e.Err }

// Locks locks files for all processes of the machine. A lock ends with the process that has
// it. What to do without one is the caller's matter: ErrHeld and any other error are
// different answers. The zero value locks.
type Locks struct {
	Fault func() error // tests: why nothing can be locked; nil, or a nil error, for nothing
}

const (
	lockPause = 5 * time.Millisecond // between two tries to lock a file
	lockTries = 1000                 // to lock a file that is removed again and again
	probeWait = 2 * time.Second      // for those who look whether a file is shared
)

// fault is what a test wants instead of a lock.
func (l Locks) fault() error {
	if l.Fault == nil {
		return nil
	}
	if err := l.Fault(); err != nil {
		return &NoLocksError{err}
	}
	return nil
}

// At reports whether a path names the open file, and is no symbolic link to it.
func At(file *os.File, path string) bool {
	here, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(here, there)
}

// Await is Take, and waits so long for others who have the lock.
func (l Locks) Await(path string, wait time.Duration) (*os.File, error) {
	for until := time.Now().Add(wait); ; time.Sleep(lockPause) {
		file, err := l.Take(path)
		if !errors.Is(err, ErrHeld) || !time.Now().Before(until) {
			return file, err
		}
	}
}

// Shared reports whether anybody has a file in use by Share. The error says that it cannot
// be told. What a process left when it died is removed.
func (l Locks) Shared(path string) (shared bool, err error) {
	l.probe(filepath.Dir(path), func() { shared, err = l.shared(path) })
	return shared, err
}

// Sweep is Shared for up to so many files of a directory, for what died processes left.
func (l Locks) Sweep(dir string, most int) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	names, _ := d.Readdirnames(most) // what cannot be read stays
	_ = d.Close()
	l.probe(dir, func() {
		for _, name := range names {
			_, _ = l.shared(filepath.Join(dir, name)) // what cannot be told stays
		}
	})
}
