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

// Draft is a file that is written beside the one whose place it takes. Whoever opens that
// finds the old content or the new one, whole.
type Draft struct {
	*os.File
	ModTime time.Time // that the file gets; zero is when it was written
	Fast    bool      // whether a machine that loses power may lose the new content

	path string // whose place it takes
	temp string // its name until then; "" while it has none, or when it has taken the place
}

// Begin makes a draft of the file at path, with a name that chance gives it: one that a
// killed run left may be there. mode is as for os.OpenFile. Symbolic links at path are
// replaced, not followed.
func Begin(path string, mode fs.FileMode) (*Draft, error) {
	d, err := BeginAs(path, filepath.Join(filepath.Dir(path), ".droid-acp-"+rand.Text()+".partial"), mode)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		at.Path = path // the name that the user knows
	}
	return d, err
}

// BeginAs is Begin with a name for the draft, which nobody has.
func BeginAs(path, temp string, mode fs.FileMode) (*Draft, error) {
	file, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return &Draft{File: file, path: path, temp: temp}, nil
}

// Replace closes the draft and gives it its place, unless check, which is asked right
// before, returns an error. nil for no check.
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

// Rename gives the draft its place as it is, and leaves it open. (Windows renames nothing
// that is open.)
func (d *Draft) Rename() error {
	err := os.Rename(d.temp, d.path)
	if err == nil {
		d.arrived()
	}
	return err
}

// New closes the draft and gives it its place if there is nothing. The error is fs.ErrExist
// if there is.
func (d *Draft) New() error {
	err := d.finish()
	if err != nil {
		return err
	}
	if err = os.Link(d.temp, d.path); err == nil {
		_ = os.Remove(d.temp) // a second name, which harms nobody
		d.arrived()
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.newByRename()
}

// newByRename is New where a file system has no links: an empty file takes the name before,
// which no two can make.
func (d *Draft) newByRename() error {
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

// finish closes the draft when all of it is on the disk.
func (d *Draft) finish() error {
	var err error
	if !d.Fast {
		if err = d.Sync(); errors.Is(err, syscall.EINVAL) { // a file system that cannot
			err = nil
		}
	}
	err = errors.Join(err, d.Close())
	if err == nil && !d.ModTime.IsZero() {
		err = os.Chtimes(d.temp, time.Time{}, d.ModTime)
	}
	return err
}

func (d *Draft) arrived() {
	d.temp = ""
	if !d.Fast {
		syncDir(filepath.Dir(d.path))
	}
}

// Discard closes and removes a draft that has not taken its place. It may be called in any
// case.
func (d *Draft) Discard() {
	_ = d.Close()
	if d.temp != "" {
		_ = os.Remove(d.temp) // nothing can be done where that fails
	}
}

// syncDir writes a directory's entries to the disk, where the system can do that.
func syncDir(path string) {
	if dir, err := os.Open(path); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}

// Write writes a file whole or not at all, in the place of one that may be there.
func Write(path string, content []byte, mode fs.FileMode) error {
	return write(path, content, mode, false)
}

func write(path string, content []byte, mode fs.FileMode, fast bool) error {
	d, err := Begin(path, mode)
	if err != nil {
		return err
	}
	defer d.Discard()
	d.Fast = fast
	if _, err := d.Write(content); err != nil {
		return err
	}
	return d.Replace(nil)
}

// CheckTarget returns an error if no file can be written at path, as far as can be
// told before it is.
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
