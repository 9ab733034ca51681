package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

// archiveName is the name of the file, in the parent of droid's sessions directory, with the archived sessions. droid has no archive.
const archiveName = "droid-acp-archived.json"

// maxArchive is its maximum size in bytes; a session takes about 70.
const maxArchive = 16 << 20

// archiveWait is how long a change waits for other processes that write the file.
const archiveWait = 2 * time.Second

// archive is the content of the file. A thread is archived if any of its sessions is in it: droid may add sessions to a thread later.
type archive struct {
	Archived map[string]time.Time `json:"archived"` // since when, by ID
}

// has reports whether the thread with these IDs is archived.
func (a archive) has(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool {
		_, archived := a.Archived[id]
		return archived
	})
}

func (s *Store) archivePath() string { return filepath.Join(filepath.Dir(s.root), archiveName) }

// readArchive reads the file. A missing one is empty. What cannot be read is an error, since nobody could tell which sessions are archived.
func (s *Store) readArchive() (all archive, err error) {
	data, err := files.Read(s.archivePath(), maxArchive)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return all, fmt.Errorf("%s, which has the archived sessions, cannot be read: %w; repair it, or remove it, after which no session is archived", s.archivePath(), err)
	}
	if all.Archived == nil {
		all.Archived = map[string]time.Time{}
	}
	return all, nil
}

// SetArchived archives the thread with these IDs, or restores it. The files of the sessions stay as they are. Any number of processes may
// call it at the same time. If the file cannot be read, it is not changed.
func (s *Store) SetArchived(archived bool, ids ...string) error {
	if s.err != nil {
		return s.err
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !stream.ValidSessionID(id) })
	all, err := s.readArchive()
	if err != nil || len(ids) == 0 || !archived && !all.has(ids) {
		return err // there is nothing to restore
	}
	if err := s.changeArchive(archived, ids); err != nil {
		return fmt.Errorf("writing %s: %w", s.archivePath(), err)
	}
	return nil
}

func (s *Store) changeArchive(archived bool, ids []string) error {
	path := files.RealPath(s.archivePath()) // so that a symbolic link is not replaced
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	lockPath := path + ".lock"
	lock, err := s.locks.TakeWait(lockPath, archiveWait)
	if lock != nil {
		defer files.Unlock(lock, lockPath)
	}
	switch {
	case errors.Is(err, files.ErrHeld):
		return fmt.Errorf("another droid-acp has kept it locked for %v; try again", archiveWait)
	case errors.As(err, new(*files.NoLocksError)):
		s.noLocks(filepath.Dir(path), err)
	case err != nil:
		return err
	}
	all, err := s.readArchive() // once more, as another process may have changed it
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, before := all.Archived[id]; archived && !before {
			all.Archived[id] = time.Now().UTC().Truncate(time.Second)
		}
		if !archived {
			delete(all.Archived, id)
		}
	}
	data, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	return files.Write(path, append(data, '\n'), 0o600)
}
