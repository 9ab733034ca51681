package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// trashName is the directory, in the parent of the store, for deleted sessions.
const trashName = "droid-acp-trash"

// move moves sessions into one directory of the trash.
type move struct {
	rename func(from, to string) error
	bin    string
	done   []renamed
}

// renamed is a file or directory that was renamed.
type renamed struct{ from, to string }

// trash moves the files of sessions, of which there is at least one, one after the other. A conversation is moved before the files that
// belong to it. So at any moment a session is completely in the store, or its conversation is in the trash; files that a killed process
// left in the store are where they must be when the conversation is moved back. If a file cannot be moved, the others are moved back. If
// two processes delete one session at once, the one that moves the conversation moves the rest.
func (s *Store) trash(sessions []stored) error {
	m, err := s.newMove(sessions)
	if err != nil {
		return err
	}
	for _, one := range sessions {
		if err := m.session(one, filepath.Join(s.root, one.id)); err != nil {
			return m.undo(err)
		}
	}
	if len(m.done) == 0 { // another process has moved it
		return os.RemoveAll(m.bin)
	}
	return nil
}

// trashPath returns the path of the trash, which is on the store's file system, as a rename must stay on one.
func (s *Store) trashPath() (string, error) {
	root, err := filepath.EvalSymlinks(s.root)
	return filepath.Join(filepath.Dir(root), trashName), err
}

// trashed returns the IDs of the sessions in the trash.
func (s *Store) trashed() (ids []string, err error) {
	trash, err := s.trashPath()
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(trash, func(path string, _ fs.DirEntry, err error) error {
		if path == trash && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if id, is := strings.CutSuffix(filepath.Base(path), ".jsonl"); is {
			ids = append(ids, id)
		}
		return err
	})
	return ids, err
}

// newMove creates the directory that sessions are moved to.
func (s *Store) newMove(sessions []stored) (*move, error) {
	trash, err := s.trashPath()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(trash, 0o700); err != nil {
		return nil, err
	}
	bin, err := os.MkdirTemp(trash, time.Now().UTC().Format("20060102T150405Z")+"-"+sessions[0].id+"-*")
	if err != nil {
		return nil, err
	}
	return &move{rename: s.rename, bin: bin}, nil
}

// tryTrash does what trash does with a temporary file in each directory that contains a part of the sessions.
func (s *Store) tryTrash(sessions []stored) error {
	m, err := s.newMove(sessions)
	if err != nil {
		return err
	}
	defer os.RemoveAll(m.bin)
	for _, one := range sessions {
		for _, d := range one.dirs {
			if err := m.tryDir(d.path); err != nil {
				return err
			}
		}
		if _, err := os.Lstat(filepath.Join(s.root, one.id)); err != nil {
			continue // it has no attachments
		}
		if err := m.tryDir(s.root); err != nil {
			return err
		}
	}
	return nil
}

// tryDir moves a new file from a directory into the bin.
func (m *move) tryDir(dir string) error {
	f, err := os.CreateTemp(dir, ".droid-acp-*.tmp")
	if err != nil {
		return err
	}
	_ = f.Close() // nothing was written
	if err := m.rename(f.Name(), filepath.Join(m.bin, filepath.Base(f.Name()))); err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return nil
}

// session moves a session's files, and then its attachments.
func (m *move) session(s stored, attachments string) error {
	mine := false
	for _, d := range s.dirs {
		if err := os.MkdirAll(filepath.Join(m.bin, d.name), 0o700); err != nil {
			return err
		}
		moved, err := m.moveIn(d.file(s.id+transcript), d.name)
		if err != nil {
			return err
		}
		if !moved {
			continue
		}
		mine = true
		for _, end := range companions {
			if _, err := m.moveIn(d.file(s.id+end), d.name); err != nil {
				return err
			}
		}
	}
	if !mine {
		return nil
	}
	_, err := m.moveIn(attachments, "")
	return err
}

// moveIn moves a file, or a directory with its content, into a directory of the bin. It returns false if it does not exist.
func (m *move) moveIn(from, dir string) (bool, error) {
	to := filepath.Join(m.bin, dir, filepath.Base(from))
	err := m.rename(from, to)
	if _, gone := os.Lstat(from); errors.Is(err, fs.ErrNotExist) && errors.Is(gone, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	m.done = append(m.done, renamed{from, to})
	return true, nil
}

// undo moves everything back to the store and returns cause, or a further error. It replaces nothing that a droid has written there since.
func (m *move) undo(cause error) error {
	for _, r := range slices.Backward(m.done) {
		_, err := os.Lstat(r.from)
		switch {
		case err == nil:
			err = fmt.Errorf("%s: %w", r.from, fs.ErrExist)
		case errors.Is(err, fs.ErrNotExist):
			err = m.rename(r.to, r.from)
		}
		if err != nil {
			return fmt.Errorf("%w; its files are in %s, as %w", cause, m.bin, err)
		}
	}
	_ = os.RemoveAll(m.bin) // empty directories
	return cause
}
