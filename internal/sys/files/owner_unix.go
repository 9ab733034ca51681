//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// OwnedByUser reports whether a file belongs to the effective user.
func OwnedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
