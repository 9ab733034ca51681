// Package wholefile writes files so that a reader finds the old content or the new one, and
// nothing in between.
package wholefile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckTarget returns an error if no file can be written at path, as far as can be
// told before it is.
func CheckTarget(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path)
	}
	switch info, err := os.Stat(filepath.Dir(path)); {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", filepath.Dir(path))
	}
	return nil
}

// Write writes a file whole or not at all, in the place of one that may be there. mode is
// as for os.OpenFile.
func Write(path string, content []byte, mode fs.FileMode) error {
	// Chance names it, as one that a killed run left may be there.
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()+".partial")
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return err
}
