//go:build unix

package editorfs

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"droid-acp/internal/sys/files"
)

// publish creates a locked file with its complete content, which is first written under another name. If another agent takes that for an
// abandoned file and removes it, the error is fs.ErrNotExist.
func publish(path string, data []byte, lock func(*os.File) error) (*os.File, error) {
	d, err := files.NewDraftAs(path, strings.TrimSuffix(path, editEnd)+halfEnd, 0o600)
	if err != nil {
		return nil, err
	}
	d.NoSync = true // synced below
	if err = lock(d.File); errors.Is(err, files.ErrHeld) {
		err = fs.ErrNotExist // about to be removed
	}
	if err == nil {
		_, err = d.Write(data)
	}
	if err == nil {
		err = d.Sync()
	}
	if err == nil {
		err = d.Rename()
	}
	if err != nil {
		d.Discard()
		return nil, err
	}
	return d.File, nil
}

// claim opens an entry for replay, if no one else has it open. An entry that cannot be locked is left alone until no one can be working on
// it.
func (f *Files) claim(path string) (*os.File, bool) {
	file, err := os.OpenFile(path, os.O_RDWR|openFlags, 0)
	if err != nil {
		return nil, false
	}
	err = f.locks.Lock(file)
	if err != nil && !errors.Is(err, files.ErrHeld) {
		if info, serr := file.Stat(); serr == nil && time.Since(info.ModTime()) >= unlockedAge {
			err = nil
		}
	}
	if err != nil || !files.IsAt(file, path) {
		_ = file.Close()
		return nil, false
	}
	return file, true
}
