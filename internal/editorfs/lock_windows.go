package editorfs

import (
	"os"
	"path/filepath"
)

// unlock ends the lock and removes its file, unless another has it open by then.
func unlock(file *os.File, path string) {
	_ = file.Close()
	_ = os.Remove(path)
}

// tryLock makes a file and keeps it open, so that nobody can remove it; nil when another
// does so.
func tryLock(path string) (*os.File, error) {
	_ = os.Remove(path) // of an agent that was killed
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if _, gone := os.Stat(filepath.Dir(path)); gone != nil {
			return nil, err
		}
		return nil, nil
	}
	return file, nil
}
