//go:build unix

package child

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// OnReaderGone calls f when nobody can read any more what is written to a pipe or a socket. A write would tell that, too,
// but there may be nothing to write for long. The file is not to be closed before.
func OnReaderGone(out *os.File, f func()) { onHangup(out, 0, f) }

// OnWriterGone calls f when nobody can write any more what is read from a pipe or a socket, whatever is still to be read.
// The file is not to be closed before.
func OnWriterGone(in *os.File, f func()) { onHangup(in, writerGone, f) }

// onHangup calls f at a hangup, an error, or one of the events.
func onHangup(file *os.File, events int16, f func()) {
	conn, err := file.SyscallConn() // unlike Fd it leaves the mode of the file as it is
	if err != nil {
		return
	}
	var fd int32
	if conn.Control(func(n uintptr) { fd = int32(n) }) != nil {
		return
	}
	go func() {
		for {
			fds := []unix.PollFd{{Fd: fd, Events: events}} // errors and hangups are always reported
			_, err := unix.Poll(fds, -1)
			switch {
			case errors.Is(err, unix.EINTR):
				continue
			case err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLHUP|events) != 0:
				f()
			}
			return
		}
	}()
}
