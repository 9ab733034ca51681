package export

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile renders the conversation into a new file, which the user alone can
// read. Nothing is left of a file that could not be written whole. The error is
// fs.ErrExist when there is such a file already; it is not overwritten.
func (c *Conversation) WriteFile(path string) error { return writeNew(path, c.Render) }

// writeNew makes a file that is not there yet, whole or not at all: it gets its name
// when it is written.
func writeNew(path string, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil {
		return &existsError{path}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".droid-acp-export-*")
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			at.Path = path // the name that the user knows
		}
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails when the file has its name
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	err = os.Link(f.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = renameNew(f.Name(), path) // this filesystem has no links
	}
	if errors.Is(err, fs.ErrExist) {
		return &existsError{path}
	}
	return err
}

// renameNew renames a file to a name that nobody has: an empty file takes the name
// before, which no two writers can make.
func renameNew(from, to string) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Rename(from, to)); err != nil {
		_ = os.Remove(to)
		return err
	}
	return nil
}

// existsError says that a file is not overwritten.
type existsError struct{ path string }

func (e *existsError) Error() string {
	return e.path + " exists and is not overwritten; give another name"
}

func (e *existsError) Unwrap() error { return fs.ErrExist }
