//go:build !linux

package child

import (
	"io"
	"os"
)

// TakePipe is f. As on Linux it is for one reader.
func TakePipe(f *os.File) io.ReadCloser { return f }
