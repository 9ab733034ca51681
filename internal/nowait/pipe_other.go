//go:build !linux

package nowait

import (
	"io"
	"os"
)

// TakePipe is f.
func TakePipe(f *os.File) io.ReadCloser { return f }
