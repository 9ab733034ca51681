//go:build unix

package editorfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openFlags prevent that opening a file that became a pipe, a terminal or a link blocks or has an effect.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_NOFOLLOW

// ordinary returns why an atomic write would change more than a file's text: it creates a new file, with a new owner and group and without
// other hard links.
func ordinary(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errKind
	}
	if stat.Nlink != 1 {
		return errShared
	}
	dir := filepath.Dir(path)
	above, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	group := os.Getegid()
	if of, ok := above.Sys().(*syscall.Stat_t); ok && (above.Mode()&fs.ModeSetgid != 0 || runtime.GOOS != "linux") {
		group = int(of.Gid)
	}
	if int(stat.Uid) != os.Geteuid() || int(stat.Gid) != group {
		return errOwner
	}
	if unix.Access(path, unix.W_OK) != nil || unix.Access(dir, unix.W_OK|unix.X_OK) != nil {
		return errNoWrite
	}
	return defaultAttributes(dir)
}

// private checks that a directory belongs to this user alone.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is no directory of this user", dir)
	}
	if info.Mode().Perm() != 0o700 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// inode returns the inode of a directory, which survives a restart of the system; 0 if unknown.
func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}

// lastChange returns when a file's content or attributes last changed.
func lastChange(info fs.FileInfo) time.Time {
	changed := info.ModTime()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		if c := ctime(stat); c.After(changed) {
			return c
		}
	}
	return changed
}
