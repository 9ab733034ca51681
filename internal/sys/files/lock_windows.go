package files

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

const noWait, noFollow = 0, 0

// Lock does nothing: on Windows an open file cannot be removed or renamed, and that is the lock.
func (l Locks) Lock(*os.File) error { return l.fault() }

// Take creates a file and keeps it open, so that it cannot be removed; see Unlock.
func (l Locks) Take(path string) (*os.File, error) {
	_ = os.Remove(path) // left by a killed process
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) { // ErrPermission while it is being removed
		return nil, ErrHeld
	}
	return file, err
}

// Unlock releases the lock and removes its file, unless another process has opened it.
func Unlock(file *os.File, path string) {
	_ = file.Close()
	_ = os.Remove(path)
}

// Append opens a file for appending. It needs no lock: a line is appended in one piece, and an open file cannot be replaced.
func (l Locks) Append(path string, _ time.Duration) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
}

// Share creates a file and keeps it open. Several processes may do so; the last one removes it.
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

// inUse is InUse: a file in use cannot be removed. Of several callers, one removes it.
func (l Locks) inUse(path string) (bool, error) {
	err := os.Remove(path)
	return err != nil && !errors.Is(err, fs.ErrNotExist), nil
}

func (l Locks) probe(_ string, look func()) { look() }
