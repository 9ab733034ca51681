package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"droid-acp/internal/sys/memory"
)

const (
	readBufferSize = 64 << 10 // one read of a full pipe
	partSize       = 1 << 20  // long lines are collected in parts of this size
)

// TooLongError reports a line that was skipped.
type TooLongError struct{ Size int64 } // in bytes, including the newline

func (e *TooLongError) Error() string { return fmt.Sprintf("line of %d bytes is too long", e.Size) }

// Lines reads lines up to a maximum length. A line longer than the buffer is collected in parts and joined once, so that it is never held
// more than twice; its memory is not reused.
type Lines struct {
	r       *bufio.Reader
	max     int
	skipped func(piece []byte)
	long    bool // the last line was longer than the buffer
}

// NewLines returns a reader of lines of at most max bytes without the newline. All bytes of a longer line are passed to skipped, piece by
// piece.
func NewLines(r io.Reader, max int, skipped func(piece []byte)) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, readBufferSize), max: max, skipped: skipped}
}

// Next returns the next line without its newline. The slice is valid until the next call, or for good if Owned returns true. After a
// *TooLongError, call Next again for the following line. A last line without a newline is returned before io.EOF.
func (l *Lines) Next() ([]byte, error) {
	piece, err := l.r.ReadSlice('\n')
	if l.long = err != nil; !l.long && len(piece) <= l.max {
		return trimEnd(piece), nil
	}
	line := parts{max: l.max, skipped: l.skipped}
	for {
		line.add(piece)
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		piece, err = l.r.ReadSlice('\n')
	}
	switch {
	case line.size == 0 || err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case line.over:
		return nil, &TooLongError{line.size}
	}
	text := trimEnd(line.join())
	memory.ReleaseAfter(len(text))
	if len(text) > l.max { // it fits only with its line ending
		l.skipped(text)
		return nil, &TooLongError{line.size}
	}
	return text, nil
}

// WaitBegun waits for the first byte of the next line. It returns the error of the reader, which Next would return, if there is none.
func (l *Lines) WaitBegun() error {
	_, err := l.r.Peek(1)
	return err
}

// Buffered reports whether the next line is already buffered.
func (l *Lines) Buffered() bool {
	read, _ := l.r.Peek(l.r.Buffered()) // reads nothing, so it cannot fail
	return bytes.IndexByte(read, '\n') >= 0
}

// Owned reports whether the slice returned by Next stays valid.
func (l *Lines) Owned() bool { return l.long }

// parts collects a long line.
type parts struct {
	max     int
	skipped func(piece []byte)
	list    [][]byte
	size    int64
	over    bool // longer than max and a line ending: nothing is kept
}

func (p *parts) add(piece []byte) {
	p.size += int64(len(piece))
	if !p.over && p.size > int64(p.max)+int64(len("\r\n")) {
		p.over = true
		for _, part := range p.list {
			p.skipped(part)
		}
		p.list = nil
	}
	if p.over {
		p.skipped(piece)
		return
	}
	for len(piece) > 0 {
		if n := len(p.list); n == 0 || len(p.list[n-1]) == cap(p.list[n-1]) {
			size := readBufferSize
			if n > 0 {
				size = partSize
			}
			p.list = append(p.list, make([]byte, 0, size))
		}
		last := &p.list[len(p.list)-1]
		n := min(len(piece), cap(*last)-len(*last))
		*last, piece = append(*last, piece[:n]...), piece[n:]
	}
}

// join returns the line and releases its parts.
func (p *parts) join() []byte {
	line := make([]byte, 0, p.size)
	for i, part := range p.list {
		line = append(line, part...)
		p.list[i] = nil
	}
	return line
}

func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
