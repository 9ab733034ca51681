//go:build unix

package editorfs

import "os"

// unlock removes a lock's file and ends the lock. Whoever waits for it sees that
// the file is gone and makes a new one.
func unlock(file *os.File, path string) {
	_ = os.Remove(path)
	_ = file.Close()
}

// tryLock makes a file and locks it; nil when another has.
func tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if flock(file) && isAt(file, path) {
		return file, nil
	}
	return nil, file.Close()
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
