package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
)

// companions are the suffixes of the files that droid keeps with a conversation. They are listed because an ID may be a prefix of another
// one.
var companions = []string{".settings.json", ".settings.json.bak"}

// Delete removes sessions from the store, such as those of one thread. Nothing is destroyed: their files are moved to a new directory
//
//	<home>/.factory/droid-acp-trash/<time>-<first id>-<number>/
//
// which has the structure of the store; the files keep their times. Moving its content back into <home>/.factory/sessions restores the
// sessions and the thread; nothing empties the trash. Either all files are moved or, if one cannot be moved, none. If this program is
// killed during that, each session is in the store or in the trash. If .factory/sessions is a symbolic link, the trash is in the parent of
// its target. A store that is a separate file system has no trash: nothing is deleted.
//
// An ID that is not in the store, or invalid, is not an error, nor is a session that another process deletes at the same time. If any
// process holds one of the sessions, or loads it (Free), none is deleted: 0.99 would create a new file without a beginning under the same
// name, 0.225 would lose what follows. A droid for which no process holds a session, such as one in a terminal, is not noticed: it keeps no
// file open (0.99 to 0.225).
//
// A deleted thread is no longer archived, so it is listed if its files are moved back.
func (s *Store) Delete(ids ...string) error {
	if err := s.delete(ids, s.Free, s.trash); err != nil {
		return err
	}
	if err := s.SetArchived(false, ids...); err != nil && s.err == nil {
		s.log.Warn("a deleted session is still among the archived ones", zap.Error(err))
	}
	return nil
}

// CheckDelete returns the error with which Delete would fail to move these sessions, nil if they can be moved. It does not check whether a
// process holds them.
func (s *Store) CheckDelete(ids ...string) error {
	return s.delete(ids, func(string) error { return nil }, s.tryTrash)
}

// delete calls move for the files of these sessions in the store. free returns an error for a session that must stay.
func (s *Store) delete(ids []string, free func(id string) error, move func([]stored) error) error {
	var deleted []stored
	for _, id := range ids {
		if !stream.ValidSessionID(id) {
			continue
		}
		from, err := s.conversations(id)
		if err == nil && len(from) > 0 {
			err = free(id)
		}
		if err != nil {
			return fmt.Errorf("deleting session %s: %w", id, err)
		}
		if len(from) > 0 {
			deleted = append(deleted, stored{id, from})
		}
	}
	if len(deleted) == 0 {
		return nil
	}
	if err := move(deleted); err != nil {
		return fmt.Errorf("deleting session %s: %w", deleted[0].id, err)
	}
	return nil
}

// stored is a session and the directories that contain files of it.
type stored struct {
	id   string
	dirs []directory
}

// conversations returns the directories that contain a file of this ID. A directory with several names counts once.
func (s *Store) conversations(id string) (from []directory, err error) {
	dirs, _, err := s.directories()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, d := range dirs {
		info, err := os.Lstat(d.file(id + transcript))
		switch {
		case err != nil && !isMissing(err):
			return nil, err
		case err != nil || info.IsDir():
			continue
		}
		place, err := s.inside(d)
		if err != nil {
			return nil, err
		}
		if !seen[place] {
			seen[place] = true
			from = append(from, d)
		}
	}
	return from, nil
}

// inside resolves d, and returns an error if it is not inside the store: droid reads and writes sessions there too (0.99 to 0.225), but the
// target of such a link contains more than droid's files.
func (s *Store) inside(d directory) (string, error) {
	root, err := filepath.EvalSymlinks(s.root)
	if err != nil {
		return "", err
	}
	place, err := filepath.EvalSymlinks(d.path)
	if err != nil {
		return "", err
	}
	if place != root && !strings.HasPrefix(place, root+string(filepath.Separator)) {
		return "", fmt.Errorf("it lies in %s, outside of droid's store, where the symbolic link %s leads; remove it there yourself", place, d.path)
	}
	return place, nil
}

// isMissing reports whether an error means that a file does not exist, or that its directory cannot be searched, in which case droid does
// not find it either.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}
