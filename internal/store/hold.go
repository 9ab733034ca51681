package store

import (
	"fmt"
	"os"
	"path/filepath"

	"droid-acp/internal/sessionid"
)

// openName is the directory beside the store that has a file for each session that
// a process holds. A lock on the file, which ends with the process, tells whether
// one still does.
const openName = "droid-acp-open"

// Hold notes for all processes that a droid has this session open, so that none
// deletes it. Several may hold it. It is held until release is called, or until
// the process ends.
func (s *Store) Hold(id string) (release func(), err error) {
	path, err := s.holdPath(id)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		sweep(filepath.Dir(path))
		release, err = holdFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("holding session %q: %w", id, err)
	}
	return release, nil
}

// swept is how many files one Hold checks for processes that died.
const swept = 100

// sweep removes files that nobody holds: those of processes that were killed.
func sweep(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(swept) // what cannot be read stays
	for _, name := range names {
		fileHeld(filepath.Join(dir, name))
	}
}

// Held reports whether any process holds the session, this one included.
func (s *Store) Held(id string) bool { return s.held(id) }

// held reports whether a process holds the session. It removes the file that a
// process left when it died.
func (s *Store) held(id string) bool {
	path, err := s.holdPath(id)
	return err == nil && fileHeld(path)
}

func (s *Store) holdPath(id string) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	if !sessionid.Valid(id) {
		return "", &NotFoundError{ID: id}
	}
	return filepath.Join(filepath.Dir(s.root), openName, id), nil
}
