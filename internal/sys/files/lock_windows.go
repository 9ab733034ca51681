package files

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

const noWait, noFollow = 0, 0

// Lock does nothing: a file that is open cannot be removed or renamed, and that is the lock.
func (l Locks) Lock(*os.File) error { return l.fault() }

// Take makes a file and keeps it open, so that nobody can remove it; see Unlock.
func (l Locks) Take(path string) (*os.File, error) {
	_ = os.Remove(path) // of a process that was killed
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) { // the latter of one that is being removed
		return nil, ErrHeld
	}
	return file, err
}

// Unlock ends the lock and removes its file, unless another has it open by then.
func Unlock(file *os.File, path string) {
	_ = file.Close()
	_ = os.Remove(path)
}

// Append opens a file to add lines to it. It needs no lock: a line goes to the end in one
// piece, and nobody replaces a file that is open.
func (l Locks) Append(path string, _ time.Duration) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
}

// Share makes a file and keeps it open, as several may at once; the last one removes it.
func (l Locks) Share(path string) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = file.Close()
		_ = os.Remove(path) // fails while another process has it
	}, nil
}

// shared is Shared: then it cannot be removed. Of several who ask, one removes it.
func (l Locks) shared(path string) (bool, error) {
	err := os.Remove(path)
	return err != nil && !errors.Is(err, fs.ErrNotExist), nil
}

func (l Locks) probe(_ string, look func()) { look() }
