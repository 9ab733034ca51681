package droid

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	readBufferSize = 64 << 10 // one read of a full pipe
	partSize       = 1 << 20  // a long line is collected in parts of that size
	lineHead       = 4 << 10  // this much is kept of a line that is skipped
)

// lineTooLong reports a line that was skipped.
type lineTooLong struct {
	size int64
	head []byte // its beginning
}

func (e *lineTooLong) Error() string { return fmt.Sprintf("line of %d bytes is too long", e.size) }

// lineReader reads lines of any length up to max. A line that does not fit its
// buffer is collected in parts and joined once, so that it is never held more than
// twice, and its memory is not used again.
type lineReader struct {
	r    *bufio.Reader
	max  int
	long bool // the last line was longer than the buffer
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, readBufferSize), max: max}
}

// next returns the next line without its line ending. The slice is valid until
// the following call, or for good if owned then reports true. After a lineTooLong
// the following call returns the next line. A last line without newline is returned
// before io.EOF.
func (l *lineReader) next() ([]byte, error) {
	part, err := l.r.ReadSlice('\n')
	if l.long = err != nil; !l.long {
		return trimEOL(part), nil
	}
	var line parts
	for {
		line.add(part, l.max)
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		part, err = l.r.ReadSlice('\n')
	}
	switch {
	case line.size > int64(l.max) && (err == nil || errors.Is(err, io.EOF)):
		return nil, &lineTooLong{line.size, line.head()}
	case err == nil || (errors.Is(err, io.EOF) && line.size > 0):
		return trimEOL(line.join()), nil
	}
	return nil, err
}

// owned reports whether the slice that next returned stays valid.
func (l *lineReader) owned() bool { return l.long }

// parts are a line under way.
type parts struct {
	list [][]byte
	size int64
}

// add takes the next piece of the line. Once the line has more than max bytes only
// its beginning is kept.
func (p *parts) add(piece []byte, max int) {
	p.size += int64(len(piece))
	if p.size > int64(max) {
		p.list = p.list[:min(len(p.list), 1)]
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

func (p *parts) head() []byte {
	if len(p.list) == 0 {
		return nil
	}
	return p.list[0][:min(len(p.list[0]), lineHead)]
}

func trimEOL(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
}
