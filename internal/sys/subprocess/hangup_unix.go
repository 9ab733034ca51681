//go:build unix

package subprocess

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// OnReaderGone calls f when the last reader of a pipe or socket is gone. Writing would show that, too, but there may be nothing to write
// for a long time. The file must stay open until then.
func OnReaderGone(out *os.File, f func()) { onHangup(out, 0, f) }

// OnWriterGone calls f when the last writer of a pipe or socket is gone, even if there is unread data. The file must stay open until then.
func OnWriterGone(in *os.File, f func()) { onHangup(in, writerGone, f) }

// onHangup calls f on a hangup, an error, or one of the events.
func onHangup(file *os.File, events int16, f func()) {
	conn, err := file.SyscallConn() // unlike Fd, this keeps the file non-blocking
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
