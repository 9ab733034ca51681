package editorfs

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

const openFlags = 0

// publish and claim have nothing to do here: nobody has tried droid's hooks on Windows (package
// hooks), so no edit passes through the editor.
func publish(string, []byte, func(*os.File) error) (*os.File, error) {
	return nil, errors.ErrUnsupported
}

func (f *Files) claim(string) (*os.File, bool) { return nil, false }

// ordinary is nil: what a new file gets is the directory's matter here.
func ordinary(string, fs.FileInfo) error { return nil }

// private makes sure that dir is a directory. The user's own directories are private here.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errKind
	}
	return err
}

// lastChange is the mtime: there is no other time that a change moves.
func lastChange(info fs.FileInfo) time.Time { return info.ModTime() }

// inode is 0: it is not told.
func inode(fs.FileInfo) uint64 { return 0 }
