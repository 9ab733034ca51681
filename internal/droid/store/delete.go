package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"droid-acp/internal/droid/stream"
)

// companions end the names of the files that droid keeps beside a conversation.
// They are named one by one: an id may begin like another one.
var companions = []string{".settings.json", ".settings.json.bak"}

// Delete removes sessions from the store, those of one thread for example. Nothing
// is destroyed: their files move to a new directory
//
//	<home>/.factory/droid-acp-trash/<time>-<first id>-<number>/
//
// in which they lie as in the store, with the times they had. Moving what that
// directory holds back into <home>/.factory/sessions brings the sessions back, and
// the thread with them; nothing empties the trash. All files move, or none when one
// cannot be moved. When this program is killed meanwhile, each session is in the store or in
// the trash. If .factory/sessions is a symbolic link, the trash is beside the directory that it
// leads to. A store that is a file system of its own has no trash: nothing is deleted.
//
// An id that the store does not have, or could not have, is no error, nor is
// one that another process deletes at the same time. If some process holds one of the
// sessions, or loads it (Free), none is deleted: 0.99 would begin a new file without a beginning
// under the same name, 0.225 would lose what comes after. A droid that nobody
// holds a session for, such as one in a terminal, is not noticed: it keeps no file
// open (0.99 to 0.225).
func (s *Store) Delete(ids ...string) error { return s.delete(ids, s.Free, s.trash) }

// CheckDelete returns the error for which Delete would not move these sessions, nil where they can be moved. It does not
// look whether somebody holds them.
func (s *Store) CheckDelete(ids ...string) error {
	return s.delete(ids, func(string) error { return nil }, s.tryTrash)
}

// delete has move take what the store has of these sessions. free returns the error for which one stays.
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

// stored is a session and the directories that have a file of it.
type stored struct {
	id   string
	dirs []directory
}

// conversations are the directories that have a file of this id. A directory that
// several names lead to counts once.
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

// inside returns where d really lies, and an error when that is not in the store:
// droid reads and writes sessions there too (0.99 to 0.225), but whoever made the
// link keeps more than droid's files there.
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

// isMissing says that a file is not there, also because its directory is gone or
// cannot be searched, in which case droid does not find it either.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}
