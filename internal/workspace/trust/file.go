package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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

// read returns what is remembered. A missing file holds nothing.
func (k *Keeper) read() (remembered, error) {
	all := remembered{Projects: map[string]entry{}}
	if k.o.File == "" {
		return all, errors.New("there is no directory to remember it in: HOME is not set")
	}
	err := layer.ReadConfig(k.o.File, &all)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
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
	trusted := found.Items
	return !slices.ContainsFunc(p.sums(), func(sum string) bool { return !slices.Contains(trusted, sum) })
}

// Trust remembers that the project may run what p has. What it brings later is asked about
// anew.
func (k *Keeper) Trust(p Project) error {
	return k.change(func(all *remembered) {
		e := all.Projects[p.key]
		e.Root, e.Since = p.Root, time.Now().Unix()
		e.Items = slices.Compact(slices.Sorted(slices.Values(append(e.Items, p.sums()...))))
		all.Projects[p.key] = e
	})
}

// Forget takes every yes for the project of a directory back, and every no of this Keeper's.
// It reports whether there was a yes. What droid's own terminal remembers stays.
func (k *Keeper) Forget(cwd string) (forgot bool, err error) {
	key := layer.CommonGitDir(layer.Project(cwd, k.o.Home).Root)
	err = k.change(func(all *remembered) {
		_, forgot = all.Projects[key]
		delete(all.Projects, key)
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.declined, func(id string, _ bool) bool { return strings.HasPrefix(id, key+"\n") })
	return forgot, err
}

// change writes the file anew. Of two processes that do so at once the later one wins:
// then the user is asked once more.
func (k *Keeper) change(f func(*remembered)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	all, err := k.read()
	if err != nil {
		return err
	}
	f(&all)
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(k.o.File), 0o700); err != nil {
		return err
	}
	return files.Write(k.o.File, append(data, '\n'), 0o600)
}
