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

// openFlags make sure that opening a file that became a pipe, a terminal or a link neither
// waits nor has an effect.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_NOFOLLOW

// ordinary says why an atomic write would change more of a file than its text: it makes a
// new file, with the owner and the group of one and without other names.
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

// private makes sure that a directory is this user's alone.
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

// inode is the number of a directory, which it keeps over a restart of the system; 0 for none.
func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}

// lastChange is when a file's bytes or attributes changed last.
func lastChange(info fs.FileInfo) time.Time {
	changed := info.ModTime()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		if c := ctime(stat); c.After(changed) {
			return c
		}
	}
	return changed
}
