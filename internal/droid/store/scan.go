package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
)

// transcript is the suffix of the name of a session's conversation.
const transcript = ".jsonl"

// sideDirectory contains the side conversations of droid's terminal (0.225), which can be loaded but are not listed.
const sideDirectory = "btw"

// directory is one that droid loads sessions from.
type directory struct {
	path string
	name string // the project's name; "" for the root itself
}

func (d directory) file(name string) string { return filepath.Join(d.path, name) }

// directories returns the root and its subdirectories, including symbolic links to directories. It returns none if the store does not
// exist. The second result counts links that cannot be followed.
func (s *Store) directories() ([]directory, int, error) {
	if s.err != nil {
		return nil, 0, s.err
	}
	entries, err := os.ReadDir(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading droid's sessions: %w", err)
	}
	dirs := []directory{{path: s.root}}
	unreadable := 0
	for _, e := range entries {
		d := directory{filepath.Join(s.root, e.Name()), e.Name()}
		isDir := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(d.path)
			if err != nil {
				unreadable++ // dangling, or a loop
				continue
			}
			isDir = info.IsDir()
		}
		if isDir {
			dirs = append(dirs, d)
		}
	}
	return dirs, unreadable, nil
}

// candidate is a file that may be a session.
type candidate struct {
	dir     directory
	id      string
	updated time.Time
}

func (c candidate) path() string { return c.dir.file(c.id + transcript) }

// order sorts sessions: newest first, then by id.
func order(updated time.Time, id string, otherUpdated time.Time, otherID string) int {
	return cmp.Or(otherUpdated.Compare(updated), strings.Compare(id, otherID))
}

// batch is how many directory entries are read at once.
const batch = 256

// candidates returns the files of the store in the order of sessions, and the IDs that occur more than once. It does not read the files.
func (s *Store) candidates(ctx context.Context, skipped *skips) ([]candidate, map[string]bool, error) {
	dirs, unreadable, err := s.directories()
	if err != nil {
		return nil, nil, err
	}
	skipped.unreadable += unreadable
	var found []candidate
	for _, d := range dirs {
		if d.name == sideDirectory {
			continue
		}
		err := d.each(ctx, skipped, func(c candidate) { found = append(found, c) })
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case errors.Is(err, fs.ErrNotExist): // removed concurrently
		case err != nil:
			skipped.add(d.path, errUnreadable)
		}
	}
	several := severalOf(found)
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(order(a.updated, a.id, b.updated, b.id), strings.Compare(a.dir.path, b.dir.path))
	})
	return found, several, nil
}

// severalOf returns the IDs of more than one file: copies, or what 0.99 leaves when it continues a session of another project.
func severalOf(files []candidate) map[string]bool {
	slices.SortFunc(files, func(a, b candidate) int { return strings.Compare(a.id, b.id) })
	several := map[string]bool{}
	for i := 1; i < len(files); i++ {
		if files[i].id == files[i-1].id {
			several[files[i].id] = true
		}
	}
	return several
}

// each calls f for every file in d with the name of a session.
func (d directory) each(ctx context.Context, skipped *skips, f func(candidate)) error {
	dir, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // it is only read
	for ctx.Err() == nil {
		entries, err := dir.ReadDir(batch)
		for _, e := range entries {
			id, named := strings.CutSuffix(e.Name(), transcript)
			if !named {
				continue
			}
			if !stream.ValidSessionID(id) {
				skipped.add(d.file(e.Name()), errForeign)
				continue
			}
			info, err := stat(d, e)
			switch {
			case errors.Is(err, fs.ErrNotExist): // removed concurrently
			case err != nil:
				skipped.add(d.file(e.Name()), errUnreadable)
			case !info.Mode().IsRegular():
				skipped.add(d.file(e.Name()), errForeign)
			default:
				f(candidate{d, id, info.ModTime()})
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// stat follows a symbolic link, as droid does.
func stat(d directory, e fs.DirEntry) (fs.FileInfo, error) {
	if e.Type()&fs.ModeSymlink != 0 {
		return os.Stat(d.file(e.Name()))
	}
	return e.Info()
}
