//go:build unix

package editorfs

import (
	"errors"
	"os"
	"strings"
	"time"
)

// fillEntry locks a file and writes it.
func fillEntry(file *os.File, data []byte, lock func(*os.File) error) error {
	if err := lock(file); err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		return err
	}
	return file.Sync()
}

// publishByName writes a file under another name first. An agent that takes it for one that was
// left behind removes it, and then it cannot be renamed.
func publishByName(path string, data []byte, lock func(*os.File) error) (*os.File, error) {
	half := strings.TrimSuffix(path, editEnd) + halfEnd
	file, err := os.OpenFile(half, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err = fillEntry(file, data, lock); err == nil {
		err = os.Rename(half, path)
	}
	if err != nil {
		_ = os.Remove(half)
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// claim opens an entry for mending, if nobody else has it open. One that cannot be locked is
// left alone until nobody can be at work on it.
func (f *Files) claim(path string) (*os.File, string, bool) {
	file, err := os.OpenFile(path, os.O_RDWR|openFlags, 0)
	if err != nil {
		return nil, "", false
	}
	err = f.lock(file)
	if err != nil && !errors.Is(err, errHeld) {
		if info, serr := file.Stat(); serr == nil && time.Since(info.ModTime()) >= unlockedAge {
			err = nil
		}
	}
	if err != nil || !isAt(file, path) {
		_ = file.Close()
		return nil, "", false
	}
	return file, path, true
}

// unclaim closes an entry that was claimed, and returns its path from then on.
func unclaim(file *os.File, path string) string {
	_ = file.Close()
	return path
}
