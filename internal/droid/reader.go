package droid

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	readBufferSize = 64 << 10  // one read of a full pipe
	keepLineBuffer = 1 << 20   // a longer line's buffer is given back
	maxLine        = 256 << 20 // longer lines are skipped; 6.8 MB is the longest seen
)

// errLineTooLong reports a line that was skipped.
var errLineTooLong = errors.New("line is too long")

// lineReader reads lines of any length up to max. Its buffer grows with the
// line and shrinks again after a huge one.
type lineReader struct {
	r    *bufio.Reader
	max  int
	long []byte // collects a line that does not fit r's buffer
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, readBufferSize), max: max}
}

// next returns the next line without its line ending. The slice is valid until
// the following call. After errLineTooLong the reader stands on the next line.
// A last line without newline is returned before io.EOF.
func (l *lineReader) next() ([]byte, error) {
	if cap(l.long) > keepLineBuffer {
		l.long = nil
	}
	part, err := l.r.ReadSlice('\n')
	if err == nil {
		return trimEOL(part), nil
	}
	l.long = l.long[:0]
	tooLong := false
	for {
		if len(l.long)+len(part) > l.max {
			tooLong, l.long = true, nil
		} else if !tooLong {
			l.long = append(l.long, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		part, err = l.r.ReadSlice('\n')
	}
	switch {
	case tooLong && (err == nil || errors.Is(err, io.EOF)):
		return nil, errLineTooLong
	case err == nil || (errors.Is(err, io.EOF) && len(l.long) > 0):
		return trimEOL(l.long), nil
	}
	return nil, err
}

func trimEOL(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
}
