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
	partSize       = 1 << 20  // a long line is collected in parts of that size
)

// TooLongError reports a line that was passed over.
type TooLongError struct{ Size int64 } // in bytes, with its end

func (e *TooLongError) Error() string { return fmt.Sprintf("line of %d bytes is too long", e.Size) }

// Lines reads lines of any length up to a limit. A line that does not fit the buffer is
// collected in parts and joined once, so that it is never held more than twice, and its
// memory is not used again.
type Lines struct {
	r       *bufio.Reader
	max     int
	skipped func(piece []byte)
	long    bool // the last line was longer than the buffer
}

// NewLines reads lines of at most max bytes, without their end. Of a longer line skipped
// gets all bytes, piece by piece.
func NewLines(r io.Reader, max int, skipped func(piece []byte)) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, readBufferSize), max: max, skipped: skipped}
}

// Next returns the next line without its end. The slice is valid until the following
// call, or for good if Owned then reports true. After a *TooLongError the following call
// returns the next line. A last line without an end is returned before io.EOF.
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
	memory.Passed(len(text))
	if len(text) > l.max { // its end was all that it had too much, but for a little
		l.skipped(text)
		return nil, &TooLongError{line.size}
	}
	return text, nil
}

// Waiting reports whether the next line has been read already.
func (l *Lines) Waiting() bool {
	read, _ := l.r.Peek(l.r.Buffered()) // it reads nothing, so it does not fail
	return bytes.IndexByte(read, '\n') >= 0
}

// Owned reports whether the slice that Next returned stays valid.
func (l *Lines) Owned() bool { return l.long }

// parts are a line under way.
type parts struct {
	max     int
	skipped func(piece []byte)
	list    [][]byte
	size    int64
	over    bool // it is longer than max and its end, so that nothing is kept
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

// join returns the line and gives its parts up.
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
