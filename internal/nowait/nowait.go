// Package nowait reads and writes pipes and sockets by system calls that take what can be
// had at once and never wait. Go's scheduler need not be told of those. It is told of all
// others, and then wakes its watching thread, which in a program that passes on a line now
// and then costs more than the reading and writing.
//
// That is Linux 6.4 and newer. Elsewhere, and for what is neither a pipe nor a socket, a
// Reader and a Writer are the file alone.
package nowait

import (
	"io"
	"os"
	"syscall"
)

// file is a file and what it is read or written by.
type file struct {
	f    *os.File
	conn syscall.RawConn // nil where the system has no such calls for it
}

func newFile(f *os.File) file {
	conn, err := f.SyscallConn()
	if err != nil || !has {
		conn = nil
	}
	return file{f, conn}
}

// Reader reads a file. It is for one goroutine at a time.
type Reader struct{ file }

// NewReader makes a reader of f, which the caller closes.
func NewReader(f *os.File) *Reader { return &Reader{newFile(f)} }

// Read reads what is there, and waits until something is. Closing the file ends the waiting.
func (r *Reader) Read(p []byte) (n int, err error) {
	if r.conn == nil || len(p) == 0 {
		return r.f.Read(p)
	}
	var errno syscall.Errno
	err = r.conn.Read(func(fd uintptr) bool {
		n, errno = readNow(fd, p)
		return errno != syscall.EAGAIN
	})
	switch {
	case err == nil && errno == 0 && n > 0:
		return n, nil
	case err == nil && errno == 0:
		return 0, io.EOF
	case errno != syscall.EINTR:
		r.conn = nil
	}
	return r.f.Read(p) // waits, or says what is wrong
}

// Writer writes a file. Its methods are for one goroutine at a time.
type Writer struct{ file }

// NewWriter makes a writer to f, which the caller closes.
func NewWriter(f *os.File) *Writer { return &Writer{newFile(f)} }

// Write writes all of p, and waits where there is no room.
func (w *Writer) Write(p []byte) (n int, err error) { return w.f.Write(p) }

// WriteNow writes what there is room for, and returns how much that was: also 0 where Write
// would not wait, or would fail.
func (w *Writer) WriteNow(p []byte) (n int) {
	if w.conn == nil || len(p) == 0 {
		return 0
	}
	var errno syscall.Errno
	err := w.conn.Write(func(fd uintptr) bool {
		n, errno = writeNow(fd, p)
		return true
	})
	if err != nil || errno != 0 && errno != syscall.EAGAIN && errno != syscall.EINTR {
		w.conn = nil
	}
	return n
}
