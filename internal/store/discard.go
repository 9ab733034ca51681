package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"droid-acp/internal/sessionid"
)

// errSpoken says that a session is somebody's conversation.
var errSpoken = errors.New("somebody has said something in it")

// Discard destroys a session in which nobody has said anything, as one that was opened
// for a look at droid. The directory of its project goes as well if nothing is left in
// it. A session that the store does not have is no error; one with a conversation is
// left alone, and is an error.
func (s *Store) Discard(id string) error {
	if !sessionid.Valid(id) {
		return fmt.Errorf("discarding a session: %q is not an id of one", id)
	}
	dirs, err := s.conversations(id)
	if err != nil {
		return fmt.Errorf("discarding session %s: %w", id, err)
	}
	var r reader
	for _, d := range dirs {
		head, err := r.read(d.file(id+transcript), nil)
		if err == nil && head.spoken {
			err = errSpoken
		}
		if err != nil {
			return fmt.Errorf("discarding session %s: %w", id, err)
		}
	}
	for _, d := range dirs {
		for _, end := range append(companions(), transcript) {
			if err := os.Remove(d.file(id + end)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("discarding session %s: %w", id, err)
			}
		}
		if d.name != "" {
			_ = os.Remove(d.path) // it stays if it holds something
		}
	}
	_ = os.Remove(filepath.Join(s.root, id)) // its attachments, of which it can have none
	return nil
}
