//go:build unix

package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockDir locks a new directory at its present path. It returns nil where the file system has no locks, in which case no other process can
// find the directory abandoned, either.
func lockDir(path, _ string) (*os.File, error) {
	f, err := openDir(path)
	if err != nil {
		return nil, err
	}
	if new(Locks).Lock(f) != nil {
		_ = f.Close()
		return nil, nil
	}
	return f, nil
}

// unlockDir releases the lock of a directory.
func unlockDir(lock *os.File, _ string) { _ = lock.Close() }

// removeAbandonedDir removes a directory of this user if nobody holds its lock.
func removeAbandonedDir(path string) bool {
	f, err := openDir(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return isPrivate(f) && new(Locks).Lock(f) == nil && IsAt(f, path) && os.RemoveAll(path) == nil
}

// openDir opens a directory without following a symbolic link.
func openDir(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// isPrivate reports whether only this user can enter a directory.
func isPrivate(f *os.File) bool {
	var s unix.Stat_t
	return unix.Fstat(int(f.Fd()), &s) == nil && int(s.Uid) == os.Geteuid() && s.Mode&0o077 == 0
}
