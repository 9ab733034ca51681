package export

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"droid-acp/internal/sys/files"
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
	d, err := files.Begin(path, 0o600)
	if err != nil {
		return err
	}
	defer d.Discard()
	if err := write(d); err != nil {
		return err
	}
	if err = d.New(); errors.Is(err, fs.ErrExist) {
		return &existsError{path}
	}
	return err
}

// existsError says that a file is not overwritten.
type existsError struct{ path string }

func (e *existsError) Error() string {
	return e.path + " exists and is not overwritten; give another name"
}

func (e *existsError) Unwrap() error { return fs.ErrExist }
