// Pipes are read and written with little overhead.
//
// Go's poller is woken by each write into a pipe that it watches, even while nobody reads, so a reader that lets lines accumulate is woken
// by each of them. newPipeReader keeps a pipe out of the poller.
//
// Before a system call that may block, Go's scheduler wakes its monitor thread, which in a program that forwards an occasional line costs
// more than reading and writing. The pipe and the Writer therefore use raw calls that never block.
//
// This works for pipes on Linux, and for writing to pipes and sockets on Linux 6.4 and newer. Elsewhere both are the plain file.

package subprocess

import (
	"os"
	"syscall"
)

// Writer writes to a file. Its methods must not be called concurrently.
type Writer struct {
	f    *os.File
	conn syscall.RawConn // nil if non-blocking writes are unsupported

	// Arguments and results of try, kept here to avoid an allocation for each call.
	p     []byte
	n     int
	errno syscall.Errno
	try   func(fd uintptr) bool
}

// NewWriter returns a writer to f, which the caller closes.
func NewWriter(f *os.File) *Writer {
	w := &Writer{f: f}
	if conn, err := f.SyscallConn(); err == nil && hasWriteNow {
		w.conn = conn
	}
	w.try = func(fd uintptr) bool {
		w.n, w.errno = writeNow(fd, w.p)
		return true
	}
	return w
}

// Write writes all of p and blocks if there is no room.
func (w *Writer) Write(p []byte) (n int, err error) { return w.f.Write(p) }

// WriteNow writes what fits without blocking, and returns the number of bytes. It may return 0 even if Write would not block, or would
// fail.
func (w *Writer) WriteNow(p []byte) (n int) {
	if w.conn == nil || len(p) == 0 {
		return 0
	}
	w.p, w.n, w.errno = p, 0, 0
	err := w.conn.Write(w.try)
	w.p = nil
	if err != nil || w.errno != 0 && w.errno != syscall.EAGAIN && w.errno != syscall.EINTR {
		w.conn = nil
	}
	return w.n
}
