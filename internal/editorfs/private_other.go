//go:build !linux

package editorfs

import (
	"os"
	"path/filepath"
)

// privateFile writes a text to a file in a new temporary directory of this user.
func privateFile(text string) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "droid-acp-unsaved-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // nothing can be done where that fails
	path = filepath.Join(dir, "unsaved")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}
