//go:build !linux

package files

import "os"

// isKernelFile returns false: here such file systems have no regular files.
func isKernelFile(*os.File) bool { return false }
