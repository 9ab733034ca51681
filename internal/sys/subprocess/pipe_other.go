//go:build !linux

package subprocess

import (
	"io"
	"os"
)

// writerGone is 0: a hangup reports it for pipes and sockets alike.
const writerGone = 0

// newPipeReader returns f. As on Linux, only one goroutine may read at a time.
func newPipeReader(f *os.File) io.ReadCloser { return f }
