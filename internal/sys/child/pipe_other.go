//go:build !linux

package child

import (
	"io"
	"os"
)

// writerGone is no event here: a hangup tells it of pipes and sockets alike.
const writerGone = 0

// TakePipe is f. As on Linux it is for one reader.
func TakePipe(f *os.File) io.ReadCloser { return f }
