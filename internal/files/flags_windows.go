package files

import "os"

const (
	noWait   = 0
	noFollow = 0
)

// IsKernels and isKernelFile are false: devices are no regular files here.
func IsKernels(string) bool      { return false }
func isKernelFile(*os.File) bool { return false }
