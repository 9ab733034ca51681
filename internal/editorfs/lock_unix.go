//go:build unix

package editorfs

import (
	"errors"
	"os"
)

// unlock removes a lock's file and ends the lock. Whoever waits for it sees that
// the file is gone and makes a new one.
func unlock(file *os.File, path string) {
	_ = os.Remove(path)
	_ = file.Close()
}

// tryLock makes a file and locks it; errHeld when another has. With any other error there is
// a file if only the lock could not be had.
func (f *Files) tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = f.lock(file); err == nil && !isAt(file, path) {
		err = errHeld
	}
	if errors.Is(err, errHeld) {
		_ = file.Close()
		return nil, err
	}
	return file, err
}

// isAt reports whether path names the open file.
func isAt(file *os.File, path string) bool {
	here, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(here, there)
}
