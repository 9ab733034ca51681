// Temporary directories that are always removed: by their creator, or if that was killed, by the next process that creates one of the same
// kind.
//
// The creator holds a lock, which ends with its process, so an unlocked directory is abandoned. Only directories of this user that no other
// user can enter are considered, and no link is followed. On Windows the lock is a file next to the directory.

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
	lock *os.File // nil if directories cannot be locked
}

// MakeTempDir creates a directory of a kind. id becomes part of its name: letters, digits and hyphens, unique. left has the IDs of
// abandoned directories of that kind, which were removed.
func MakeTempDir(kind, id string) (dir *TempDir, left []string, err error) {
	left = sweepTempDirs(kind)
	dir = &TempDir{Path: filepath.Join(os.TempDir(), tempDirPrefix(kind)+id)}
	if _, err = os.Lstat(dir.Path); err == nil {
		return nil, left, &os.PathError{Op: "mkdir", Path: dir.Path, Err: os.ErrExist}
	}
	// It is renamed once it is locked, so that no sweep considers it abandoned.
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

// MakeEmptyDir creates an empty directory for programs, such as droid, that take files of their directory for the user's wishes. It
// contains an empty .git, so that it does not belong to an enclosing repository.
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

// Remove removes the directory and its contents.
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

// tempDirPrefix returns the prefix of the names of a kind. Earlier versions used a hyphen in place of the dot, and no lock.
func tempDirPrefix(kind string) string { return "droid-acp-" + kind + "." }

// sweepTempDirs removes the abandoned directories of a kind. What cannot be removed stays.
func sweepTempDirs(kind string) (left []string) {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return nil
	}
	for _, e := range entries {
		id, found := strings.CutPrefix(e.Name(), tempDirPrefix(kind))
		if found && e.IsDir() && removeAbandonedDir(filepath.Join(os.TempDir(), e.Name())) {
			left = append(left, id)
		}
	}
	return left
}
