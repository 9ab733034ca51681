//go:build unix && !linux

package files

import (
	"os"
	"path/filepath"
	"strings"
)

// IsKernels reports whether a path is a device's: opening it may do something.
func IsKernels(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev" || strings.HasPrefix(path, "/dev/")
}

// isKernelFile is false: the kernel's own filesystems have no regular files here.
func isKernelFile(*os.File) bool { return false }
