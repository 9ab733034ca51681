package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"droid-acp/internal/droid/config"
	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/sys/files"
)

// remembered is the content of the file.
type remembered struct {
	Projects map[string]entry `json:"projects"` // by the repository's common git directory
}

// entry is one trusted project.
type entry struct {
	Root  string   `json:"root"`  // where it was trusted, for users
	Items []string `json:"items"` // sums of what may run
	Since int64    `json:"since"` // when the last of them was allowed, in seconds since 1970; 0 if unknown
}

var errNowhere = errors.New("there is no directory to remember it in: HOME is not set")

// read returns the content of the file; a missing file is empty.
func (s *Store) read() (remembered, error) {
	all := remembered{Projects: map[string]entry{}}
	if s.o.File == "" {
		return all, errNowhere
	}
	if _, err := (config.File{Path: s.o.File}).Decode(&all); err != nil {
		return all, fmt.Errorf("%s cannot be read; mend or remove it: %w", s.o.File, err)
	}
	if all.Projects == nil {
		all.Projects = map[string]entry{}
	}
	return all, nil
}

// remembers reports whether all items of the project are trusted, and records since when.
func (s *Store) remembers(p *Project) bool {
	all, err := s.read()
	if err != nil {
		return false
	}
	found := all.Projects[p.key]
	if found.Since > 0 {
		p.since = time.Unix(found.Since, 0)
	}
	p.Granted = found.Items
	return p.CoveredBy(p.Granted)
}

// Trust records that the project may run the items of p. What it brings later requires another yes. It has no effect for a project that is
// HasUnread.
func (s *Store) Trust(p Project) error {
	return s.change(func(all *remembered) {
		e := all.Projects[p.key]
		e.Root, e.Since = p.Root, time.Now().Unix()
		e.Items = slices.Compact(slices.Sorted(slices.Values(append(e.Items, p.Sums()...))))
		all.Projects[p.key] = e
	})
}

// Forget revokes every yes for the project of a directory, and reports whether there was one. After an error the yes, if any, is still in
// effect. What droid's own terminal remembers stays.
func (s *Store) Forget(cwd string) (forgot bool, err error) {
	key := config.CommonGitDir(projectconfig.Project(cwd, s.o.Home).Root)
	err = s.change(func(all *remembered) {
		_, forgot = all.Projects[key]
		delete(all.Projects, key)
	})
	if err != nil {
		return false, fmt.Errorf("the yes was not taken back: %w", err)
	}
	return forgot, nil
}

// lockTime bounds the wait for another process that writes the file.
const lockTime = 5 * time.Second

// change rewrites the file under a lock; otherwise it could restore a yes that another process has just revoked. Without the lock nothing
// is changed.
func (s *Store) change(f func(*remembered)) error {
	if s.o.File == "" {
		return errNowhere
	}
	if err := os.MkdirAll(filepath.Dir(s.o.File), 0o700); err != nil {
		return err
	}
	path := s.o.File + ".lock"
	lock, err := s.locks.TakeWait(path, lockTime)
	if lock != nil {
		defer files.Unlock(lock, path)
	}
	if err != nil {
		return s.notLocked(path, err)
	}
	all, err := s.read()
	if err != nil {
		return err
	}
	f(&all)
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return files.Write(s.o.File, append(data, '\n'), 0o600)
}

// notLocked explains why nothing was changed, and what to do.
func (s *Store) notLocked(path string, err error) error {
	switch {
	case errors.Is(err, files.ErrHeld):
		return fmt.Errorf("another droid-acp has %s locked; try again, and end that one if it does not let go", path)
	case errors.As(err, new(*files.NoLocksError)):
		return fmt.Errorf("%s cannot be locked: %w; set $XDG_STATE_HOME to a directory on a local disk. To take every yes back, remove %s",
			path, err, s.o.File)
	}
	return fmt.Errorf("%s cannot be locked: %w; see that you may write there, and that it is no link", path, err)
}
