package editorfs

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

const openFlags = 0

// publish and claim are unused here: droid's hooks were not tried on Windows (package hooks), so no edit passes through the editor.
func publish(string, []byte, func(*os.File) error) (*os.File, error) {
	return nil, errors.ErrUnsupported
}

func (f *Files) claim(string) (*os.File, bool) { return nil, false }

// ordinary returns nil: here a new file's attributes come from its directory.
func ordinary(string, fs.FileInfo) error { return nil }

// private checks that dir is a directory. The user's own directories are private here.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errKind
	}
	return err
}

// lastChange returns the mtime: no other time reflects changes.
func lastChange(info fs.FileInfo) time.Time { return info.ModTime() }

// inode returns 0: it is unknown here.
func inode(fs.FileInfo) uint64 { return 0 }
