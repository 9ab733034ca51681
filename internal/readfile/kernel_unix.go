//go:build unix && !linux

package readfile

import (
	"os"
	"path/filepath"
	"strings"
)

// isKernelPath tells paths of devices, which opening may have an effect on.
func isKernelPath(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev" || strings.HasPrefix(path, "/dev/")
}

// isKernelFile tells files of the kernel's own filesystems: there are no regular
// ones here.
func isKernelFile(*os.File) bool { return false }
