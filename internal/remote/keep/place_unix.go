//go:build unix

package keep

import (
	"io/fs"
	"os"
	"syscall"
)

// isOurs reports whether a file belongs to the user that this process works for.
func isOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// isOpen reports whether others than the owner can do anything with it.
func isOpen(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
