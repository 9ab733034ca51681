//go:build !linux

package droid

import (
	"errors"
	"os"
	"path/filepath"
)

// openPrivateFile writes the data to a temporary file that only the user can read,
// since it may hold secrets.
func openPrivateFile(what string, data []byte) (*privateFile, error) {
	f, err := os.CreateTemp("", "droid-acp-"+what+"-*")
	if err != nil {
		return nil, err
	}
	path := f.Name()
	s := &privateFile{
		path:    path,
		replace: func(data []byte) error { return replaceFile(path, data) },
		close:   func() { _ = os.Remove(path) }, // nothing can be done where that fails
	}
	if err = f.Close(); err == nil {
		err = s.replace(data)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// replaceFile puts another file in the place of one, so that who opens it reads the old
// data or the new ones, whole.
func replaceFile(path string, data []byte) error {
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = next.Write(data)
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		_ = os.Remove(next.Name()) // the error says what matters
	}
	return err
}
