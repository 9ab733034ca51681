package store

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"droid-acp/internal/sessionid"
)

// SetCWD writes into a session's file that droid goes on in another directory, as droid
// itself does when a user changes it (lastCwd, read by 0.99 to 0.225 when they load the
// session). The caller sees to it that no droid has the session open. The file is
// replaced as a whole, or not at all, and keeps its times. The error is a
// *NotFoundError, or says what stands in the way.
func (s *Store) SetCWD(id, dir string) error {
	if !sessionid.Valid(id) {
		return &NotFoundError{ID: id, Err: errNoID}
	}
	dirs, err := s.conversations(id)
	if err != nil {
		return err
	}
	found := false
	for _, in := range dirs {
		path := in.file(id + transcript)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := rewrite(path, func(line []byte) ([]byte, error) { return withCWD(line, dir) }); err != nil {
			return fmt.Errorf("writing the directory of session %s: %w", id, err)
		}
		found = true
	}
	if !found {
		return &NotFoundError{ID: id}
	}
	return nil
}

// withCWD sets where droid goes on in a session's first line and leaves all else as it
// is. Where the session was begun droid goes on if nothing else is said.
func withCWD(line []byte, dir string) ([]byte, error) {
	begun, err := parseStart(line)
	if err != nil {
		return nil, err
	}
	fields, err := fieldsOf(line)
	if err != nil {
		return nil, err
	}
	const last = "lastCwd"
	if begun.CWD == dir {
		return encoded(slices.DeleteFunc(fields, func(f field) bool { return f.name == last })), nil
	}
	text, _ := json.Marshal(dir) // strings always encode
	return encoded(set(fields, last, text)), nil
}
