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
	"droid-acp/internal/droid/layer"
	"droid-acp/internal/sys/files"
)

// remembered is what the file holds.
type remembered struct {
	Projects map[string]entry `json:"projects"` // by the directory that git keeps the repository in
}

// entry is one trusted project.
type entry struct {
	Root  string   `json:"root"`  // where it was trusted, for people
	Items []string `json:"items"` // the sums of what may run
	Since int64    `json:"since"` // when the last of them was allowed, in seconds since 1970; 0 where that is not known
}

var errNowhere = errors.New("there is no directory to remember it in: HOME is not set")

// read returns what is remembered. A missing file holds nothing.
func (k *Keeper) read() (remembered, error) {
	all := remembered{Projects: map[string]entry{}}
	if k.o.File == "" {
		return all, errNowhere
	}
	if _, err := (config.File{Path: k.o.File}).Decode(&all); err != nil {
		return all, fmt.Errorf("%s cannot be read; mend or remove it: %w", k.o.File, err)
	}
	if all.Projects == nil {
		all.Projects = map[string]entry{}
	}
	return all, nil
}

// remembers reports whether all items of the project were trusted before, and notes since when.
func (k *Keeper) remembers(p *Project) bool {
	all, err := k.read()
	if err != nil {
		return false
	}
	found := all.Projects[p.key]
	if found.Since > 0 {
		p.Since = time.Unix(found.Since, 0)
	}
	p.Granted = found.Items
	return p.In(p.Granted)
}

// Trust remembers that the project may run what p has. What it brings later is asked about
// anew. A project that is Unread is not trusted by that.
func (k *Keeper) Trust(p Project) error {
	return k.change(func(all *remembered) {
		e := all.Projects[p.key]
		e.Root, e.Since = p.Root, time.Now().Unix()
		e.Items = slices.Compact(slices.Sorted(slices.Values(append(e.Items, p.Sums()...))))
		all.Projects[p.key] = e
	})
}

// Forget takes every yes for the project of a directory back.
// It reports whether there was a yes. After an error there still is, if there was one. What droid's own terminal
// remembers stays.
func (k *Keeper) Forget(cwd string) (forgot bool, err error) {
	key := config.CommonGitDir(layer.Project(cwd, k.o.Home).Root)
	err = k.change(func(all *remembered) {
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

// change writes the file anew. The lock has other processes wait meanwhile, and this one for them: else it would
// write a yes again that another has just taken back. Without the lock nothing is changed.
func (k *Keeper) change(f func(*remembered)) error {
	if k.o.File == "" {
		return errNowhere
	}
	if err := os.MkdirAll(filepath.Dir(k.o.File), 0o700); err != nil {
		return err
	}
	path := k.o.File + ".lock"
	lock, err := k.locks.Await(path, lockTime)
	if lock != nil {
		defer files.Unlock(lock, path)
	}
	if err != nil {
		return k.notLocked(path, err)
	}
	all, err := k.read()
	if err != nil {
		return err
	}
	f(&all)
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return files.Write(k.o.File, append(data, '\n'), 0o600)
}

// notLocked says why nothing was changed, and what to do.
func (k *Keeper) notLocked(path string, err error) error {
	switch {
	case errors.Is(err, files.ErrHeld):
		return fmt.Errorf("another droid-acp has %s locked; try again, and end that one if it does not let go", path)
	case errors.As(err, new(*files.NoLocksError)):
		return fmt.Errorf("%s cannot be locked: %w; set $XDG_STATE_HOME to a directory on a local disk. To take every yes back, remove %s",
			path, err, k.o.File)
	}
	return fmt.Errorf("%s cannot be locked: %w; see that you may write there, and that it is no link", path, err)
}
