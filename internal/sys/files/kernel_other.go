//go:build !linux

package files

import "os"

// isKernelFile is false: the kernel's own filesystems have no regular files here.
func isKernelFile(*os.File) bool { return false }
