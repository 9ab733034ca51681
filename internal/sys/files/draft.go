package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Draft is a temporary file that replaces another one atomically: a reader finds either the old content or the new one.
type Draft struct {
	*os.File
	ModTime time.Time // mtime of the new file; zero for the time of writing
	NoSync  bool      // skip fsync: a power loss may lose the new content

	path string // the file to replace
	temp string // name until then; "" if it has none or has replaced path
}

// NewDraft creates a draft for the file at path, with a random name, since a killed process may have left one. mode is as for os.OpenFile. A
// symbolic link at path is replaced, not followed.
func NewDraft(path string, mode fs.FileMode) (*Draft, error) {
	d, err := NewDraftAs(path, filepath.Join(filepath.Dir(path), ".droid-acp-"+rand.Text()+".partial"), mode)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		at.Path = path // the name that the user knows
	}
	return d, err
}

// NewDraftAs is NewDraft with a given name for the draft, which must not exist.
func NewDraftAs(path, temp string, mode fs.FileMode) (*Draft, error) {
	file, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return &Draft{File: file, path: path, temp: temp}, nil
}

// Replace closes the draft and renames it to its path. If check is not nil, it is called right before; if it fails, nothing is replaced.
func (d *Draft) Replace(check func() error) error {
	err := d.finish()
	if err == nil && check != nil {
		err = check()
	}
	if err != nil {
		return err
	}
	return d.Rename()
}

// Rename renames the draft to its path without closing it. (On Windows an open file cannot be renamed.)
func (d *Draft) Rename() error {
	err := os.Rename(d.temp, d.path)
	if err == nil {
		d.renamed()
	}
	return err
}

// Create closes the draft and moves it to its path, or fails with fs.ErrExist if that exists.
func (d *Draft) Create() error {
	err := d.finish()
	if err != nil {
		return err
	}
	if err = os.Link(d.temp, d.path); err == nil {
		_ = os.Remove(d.temp) // if it stays, it is only a second name
		d.renamed()
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.createByRename()
}

// createByRename is New for file systems without hard links. It first reserves the name with an empty file, which only one process can create.
func (d *Draft) createByRename() error {
	empty, err := os.OpenFile(d.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(empty.Close(), d.Rename()); err != nil {
		_ = os.Remove(d.path)
		return err
	}
	return nil
}

// finish syncs and closes the draft.
func (d *Draft) finish() error {
	var err error
	if !d.NoSync {
		if err = d.Sync(); errors.Is(err, syscall.EINVAL) { // unsupported by this file system
			err = nil
		}
	}
	err = errors.Join(err, d.Close())
	if err == nil && !d.ModTime.IsZero() {
		err = os.Chtimes(d.temp, time.Time{}, d.ModTime)
	}
	return err
}

func (d *Draft) renamed() {
	d.temp = ""
	if !d.NoSync {
		syncDir(filepath.Dir(d.path))
	}
}

// Discard closes the draft and removes it unless it has replaced its path. It may always be called.
func (d *Draft) Discard() {
	_ = d.Close()
	if d.temp != "" {
		_ = os.Remove(d.temp) // nothing can be done where that fails
	}
}

// syncDir syncs a directory, if the system supports that.
func syncDir(path string) {
	if dir, err := os.Open(path); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}

// Write writes a file atomically, replacing an existing one.
func Write(path string, content []byte, mode fs.FileMode) error {
	return write(path, content, mode, false)
}

func write(path string, content []byte, mode fs.FileMode, fast bool) error {
	d, err := NewDraft(path, mode)
	if err != nil {
		return err
	}
	defer d.Discard()
	d.NoSync = fast
	if _, err := d.Write(content); err != nil {
		return err
	}
	return d.Replace(nil)
}

// CheckTarget returns an error if a file evidently cannot be written at path.
func CheckTarget(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s %w", path, ErrNotRegular)
	}
	switch info, err := os.Stat(filepath.Dir(path)); {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", filepath.Dir(path))
	}
	return nil
}
