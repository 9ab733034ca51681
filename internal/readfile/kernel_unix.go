//go:build unix && !linux

package readfile

import (
	"os"
	"path/filepath"
	"strings"
)

// isKernelPath reports whether a path is a device's: opening it may do something.
func isKernelPath(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev" || strings.HasPrefix(path, "/dev/")
}

// isKernelFile is false: the kernel's own filesystems have no regular files here.
func isKernelFile(*os.File) bool { return false }
