package editorfs

import (
	"errors"
	"io/fs"
	"os"
)

// unlock ends the lock and removes its file, unless another has it open by then.
func unlock(file *os.File, path string) {
	_ = file.Close()
	_ = os.Remove(path)
}

// tryLock makes a file and keeps it open, so that nobody can remove it; errHeld when another
// does so.
func (f *Files) tryLock(path string) (*os.File, error) {
	_ = os.Remove(path) // of an agent that was killed
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) { // the latter of one that is being removed
		return nil, errHeld
	}
	return file, err
}
