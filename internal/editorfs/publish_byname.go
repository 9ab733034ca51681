//go:build unix

package editorfs

import (
	"errors"
	"os"
	"strings"
)

// fillEntry locks a file and writes it.
func fillEntry(file *os.File, data []byte) error {
	if !flock(file) {
		return errors.New("somebody else has locked it")
	}
	if _, err := file.Write(data); err != nil {
		return err
	}
	return file.Sync()
}

// publishByName writes a file under another name first. An agent that takes it for one that was
// left behind removes it, and then it cannot be renamed.
func publishByName(path string, data []byte) (*os.File, error) {
	half := strings.TrimSuffix(path, editEnd) + halfEnd
	file, err := os.OpenFile(half, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err = fillEntry(file, data); err == nil {
		err = os.Rename(half, path)
	}
	if err != nil {
		_ = os.Remove(half)
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// claim opens an entry for mending, if nobody else has it open.
func claim(path string) (*os.File, string, bool) {
	file, err := os.OpenFile(path, os.O_RDWR|openFlags, 0)
	if err != nil {
		return nil, "", false
	}
	if !flock(file) || !isAt(file, path) {
		_ = file.Close()
		return nil, "", false
	}
	return file, path, true
}
