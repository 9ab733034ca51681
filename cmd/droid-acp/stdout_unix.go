//go:build unix

package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// onHangup calls f when nobody can read any more what is written to a pipe or a
// socket. A write would tell that, too, but a turn may be silent for long. The
// watch ends with the program.
func onHangup(out *os.File, f func()) {
	conn, err := out.SyscallConn() // unlike Fd it leaves the mode of the file as it is
	if err != nil {
		return
	}
	var fd int32 // stays valid: stdout is never closed
	if conn.Control(func(n uintptr) { fd = int32(n) }) != nil {
		return
	}
	go func() {
		for {
			fds := []unix.PollFd{{Fd: fd}} // errors and hangups are always reported
			_, err := unix.Poll(fds, -1)
			switch {
			case errors.Is(err, unix.EINTR):
				continue
			case err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0:
				f()
			}
			return
		}
	}()
}

// heedsColours: a terminal does.
func heedsColours(uintptr) bool { return true }

// readerHasGone: a write failed because nobody reads the pipe or the socket any more.
func readerHasGone(err error) bool { return errors.Is(err, unix.EPIPE) }
