// Directories for temporary files that are removed in any case: by
// who made them, or, when that was killed, by the next one who makes one of that kind.
//
// A directory is locked by who made it, which ends with the process. So one that is not
// locked is nobody's. Only directories of this user's that no other user can enter are
// looked at, and no link is followed. Windows has the lock in a file beside the directory.

package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
)

// TempDir is a directory that only this user can enter.
type TempDir struct {
	Path string
	lock *os.File // nil where directories cannot be locked
}

// MakeTempDir makes a directory of a kind, in which id is part of the name: letters, digits and
// hyphens, and no other directory has it. left are the ids of those of that kind that were
// removed, since the program that made them was killed.
func MakeTempDir(kind, id string) (dir *TempDir, left []string, err error) {
	left = sweepTempDirs(kind)
	dir = &TempDir{Path: filepath.Join(os.TempDir(), tempDirPrefix(kind)+id)}
	if _, err = os.Lstat(dir.Path); err == nil {
		return nil, left, &os.PathError{Op: "mkdir", Path: dir.Path, Err: os.ErrExist}
	}
	// It gets its name when it is locked, so that no sweep takes it for nobody's.
	unnamed := filepath.Join(os.TempDir(), "droid-acp-new-"+kind+"."+id)
	if err = os.Mkdir(unnamed, 0o700); err != nil {
		return nil, left, err
	}
	if dir.lock, err = lockDir(unnamed, dir.Path); err == nil {
		err = os.Rename(unnamed, dir.Path)
	}
	if err != nil {
		dir.unlock()
		_ = os.Remove(unnamed) // it is empty
		return nil, left, err
	}
	return dir, left, nil
}

// MakeEmptyDir makes an empty directory for a program that takes what stands in its directory for its
// user's wish, as droid does. No repository that is around it is its: it has a .git of its own,
// which is empty.
func MakeEmptyDir() (*TempDir, error) {
	dir, _, err := MakeTempDir("empty", uuid.NewString())
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir.Path, ".git"), 0o700); err != nil {
		return nil, errors.Join(err, dir.Remove())
	}
	return dir, nil
}

// Remove removes the directory with all that is in it.
func (d *TempDir) Remove() error {
	err := os.RemoveAll(d.Path)
	d.unlock()
	return err
}

func (d *TempDir) unlock() {
	if d.lock != nil {
		unlockDir(d.lock, d.Path)
	}
}

// prefix begins the names of a kind. Those that earlier versions made had a hyphen in the
// place of the dot, and no lock.
func tempDirPrefix(kind string) string { return "droid-acp-" + kind + "." }

// sweep removes the directories of a kind that are nobody's. What cannot be removed stays.
func sweepTempDirs(kind string) (left []string) {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return nil
	}
	for _, e := range entries {
		id, found := strings.CutPrefix(e.Name(), tempDirPrefix(kind))
		if found && e.IsDir() && removeNobodysDir(filepath.Join(os.TempDir(), e.Name())) {
			left = append(left, id)
		}
	}
	return left
}
