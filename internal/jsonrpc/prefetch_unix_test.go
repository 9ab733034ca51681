//go:build unix

package jsonrpc

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fileReader is a reader that says which file it reads.
type fileReader struct {
	io.Reader
	file *os.File
}

func (r fileReader) File() *os.File { return r.file }

// The end of a pipe or a socket is noticed even if it contains more than is read ahead. The writer of a socket may continue to read from
// it.
func TestEndBeyondPrefetch(t *testing.T) {
	for name, tc := range map[string]struct{ socket, wrapped bool }{"a pipe": {}, "a socket": {socket: true}, "a pipe in a reader": {wrapped: true}} {
		t.Run(name, func(t *testing.T) {
			socket := tc.socket
			var fds [2]int
			var err error
			if socket {
				fds, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			} else {
				err = unix.Pipe(fds[:])
			}
			require.NoError(t, err)
			in, out := os.NewFile(uintptr(fds[0]), "in"), os.NewFile(uintptr(fds[1]), "out")
			defer in.Close()
			defer out.Close()
			ended := make(chan struct{})
			reader := io.Reader(in)
			if tc.wrapped {
				reader = fileReader{in, in}
			}
			a := NewPrefetchReader(reader, func() { close(ended) })
			a.Prefetch()
			_, err = out.Write(make([]byte, maxPrefetch+readBufferSize)) // at least a byte stays unread
			require.NoError(t, err)
			select {
			case <-ended:
				require.Fail(t, "the writer is still there")
			default:
			}
			if socket {
				err = unix.Shutdown(fds[1], unix.SHUT_WR)
			} else {
				err = out.Close()
			}
			require.NoError(t, err)
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				require.Fail(t, "the end is not noticed")
			}
		})
	}
}
