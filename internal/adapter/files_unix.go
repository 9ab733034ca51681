//go:build unix && !linux

package adapter

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// openFlags keep opening a file that became a pipe or a terminal from waiting and
// from having an effect.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY

// isKernelPath tells paths of devices, which opening may have an effect on.
func isKernelPath(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev" || strings.HasPrefix(path, "/dev/")
}

// isKernelFile tells files of the kernel's own filesystems: there are no regular
// ones here.
func isKernelFile(*os.File) bool { return false }
