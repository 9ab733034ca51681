// Pipes are read and written so that neither costs more than what passes.
//
// Go's poller is woken by each write into a pipe that it knows, also while nobody reads there: a reader
// who lets lines gather is woken by each of them all the same. TakePipe keeps a pipe out of it.
//
// Go's scheduler is told of each call that may wait, and then wakes its watching thread, which in a program
// that passes on a line now and then costs more than the reading and writing. Such a pipe and a Writer
// take and give what can be had at once by calls that never wait, of which it is not told.
//
// The pipe is so on Linux, the Writer on Linux 6.4 and newer, for pipes and sockets. Elsewhere they are the
// file alone.

package child

import (
	"os"
	"syscall"
)

// Writer writes a file. Its methods are for one goroutine at a time.
type Writer struct {
	f    *os.File
	conn syscall.RawConn // nil where the system has no such call for it

	// A call and what came of it. They lie here, as no memory is to be had for each.
	p     []byte
	n     int
	errno syscall.Errno
	try   func(fd uintptr) bool
}

// NewWriter makes a writer to f, which the caller closes.
func NewWriter(f *os.File) *Writer {
	w := &Writer{f: f}
	if conn, err := f.SyscallConn(); err == nil && has {
		w.conn = conn
	}
	w.try = func(fd uintptr) bool {
		w.n, w.errno = writeNow(fd, w.p)
		return true
	}
	return w
}

// Write writes all of p, and waits where there is no room.
func (w *Writer) Write(p []byte) (n int, err error) { return w.f.Write(p) }

// WriteNow writes what there is room for, and returns how much that was: also 0 where Write
// would not wait, or would fail.
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
