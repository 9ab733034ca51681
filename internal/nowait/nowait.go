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
type Reader struct {
	file
	step attempt
	try  func(fd uintptr) bool
}

// attempt is a call and what came of it. It lies in what it is made for, as no memory is to be
// had for each.
type attempt struct {
	p     []byte
	n     int
	errno syscall.Errno
}

// NewReader makes a reader of f, which the caller closes.
func NewReader(f *os.File) *Reader {
	r := &Reader{file: newFile(f)}
	r.try = func(fd uintptr) bool {
		r.step.n, r.step.errno = readNow(fd, r.step.p)
		return r.step.errno != syscall.EAGAIN
	}
	return r
}

// Read reads what is there, and waits until something is. Closing the file ends the waiting.
func (r *Reader) Read(p []byte) (n int, err error) {
	if r.conn == nil || len(p) == 0 {
		return r.f.Read(p)
	}
	r.step = attempt{p: p}
	err = r.conn.Read(r.try)
	made := r.step
	r.step.p = nil
	switch {
	case err == nil && made.errno == 0 && made.n > 0:
		return made.n, nil
	case err == nil && made.errno == 0:
		return 0, io.EOF
	case made.errno != syscall.EINTR:
		r.conn = nil
	}
	return r.f.Read(p) // waits, or says what is wrong
}

// Writer writes a file. Its methods are for one goroutine at a time.
type Writer struct {
	file
	step attempt
	try  func(fd uintptr) bool
}

// NewWriter makes a writer to f, which the caller closes.
func NewWriter(f *os.File) *Writer {
	w := &Writer{file: newFile(f)}
	w.try = func(fd uintptr) bool {
		w.step.n, w.step.errno = writeNow(fd, w.step.p)
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
	w.step = attempt{p: p}
	err := w.conn.Write(w.try)
	made := w.step
	w.step.p = nil
	if err != nil || made.errno != 0 && made.errno != syscall.EAGAIN && made.errno != syscall.EINTR {
		w.conn = nil
	}
	return made.n
}
