package export

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"droid-acp/internal/sys/files"
)

// WriteFile renders the conversation into a new file that only the user can read. On failure no file is left. The error is fs.ErrExist if
// the file exists; it is not overwritten.
func (c *Conversation) WriteFile(path string) error { return writeNew(path, c.render) }

// writeNew creates a new file atomically.
func writeNew(path string, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil {
		return &existsError{path}
	}
	d, err := files.NewDraft(path, 0o600)
	if err != nil {
		return err
	}
	defer d.Discard()
	if err := write(d); err != nil {
		return err
	}
	if err = d.Create(); errors.Is(err, fs.ErrExist) {
		return &existsError{path}
	}
	return err
}

// existsError means that the file exists.
type existsError struct{ path string }

func (e *existsError) Error() string {
	return e.path + " exists and is not overwritten; give another name"
}

func (e *existsError) Unwrap() error { return fs.ErrExist }
