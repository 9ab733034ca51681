//go:build !unix

package store

import (
	"errors"
	"io/fs"
	"os"
)

// holdFile makes a file and keeps it open: Windows does not remove an open file.
func holdFile(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = f.Close()
		_ = os.Remove(path) // fails while another process holds it
	}, nil
}

// fileHeld reports whether anybody holds the file.
func fileHeld(path string) bool {
	err := os.Remove(path)
	return err != nil && !errors.Is(err, fs.ErrNotExist)
}
