package smoke

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// Terminal is a terminal in raw mode, on which a line is edited below the output.
type Terminal struct {
	Keys io.Reader
	Size func() (width, height int)
}

// screen shows text in rows on a terminal, above the edited line. One goroutine reads lines; others may write.
type screen struct {
	term          *term.Terminal
	keys          *keyReader
	size          func() (width, height int)
	width, height int
	row           []byte // an incomplete row
}

// newScreen starts editing lines of t, which is shown on w.
func newScreen(t Terminal, w io.Writer, k *keyReader) *screen {
	k.in = t.Keys
	s := &screen{keys: k, size: t.Size}
	s.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{k, display{w}}, "> ")
	s.term.History = history{s.term.History}
	s.term.SetBracketedPasteMode(true)
	return s
}

// display writes what term.Terminal draws.
type display struct{ w io.Writer }

func (d display) Write(p []byte) (int, error) {
	_, err := shownFor.WriteString(d.w, string(p))
	return len(p), err
}

// history keeps no numbers, which answer questions.
type history struct{ term.History }

func (h history) Add(line string) {
	if _, number := numberIn(line); line != "" && !number {
		h.History.Add(line)
	}
}

// numberIn returns the number that a line consists of, if it does.
func numberIn(line string) (number int, ok bool) {
	number, err := strconv.Atoi(line)
	return number, err == nil && strconv.Itoa(number) == line
}

// Write shows complete rows.
func (s *screen) Write(p []byte) (int, error) {
	s.row = append(s.row, p...)
	end := bytes.LastIndexByte(s.row, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	s.fit()
	_, err := s.term.Write(s.row[:end])
	s.row = bytes.Clone(s.row[end:])
	return len(p), err
}

// fit redraws the line if the terminal's size has changed.
func (s *screen) fit() {
	if w, h := s.size(); w > 0 && (w != s.width || h != s.height) {
		s.width, s.height = w, h
		_ = s.term.SetSize(w, h) // a terminal that is gone is noticed when its keys are read
	}
}

// columns returns the maximum width of a row.
func (s *screen) columns() int {
	w, _ := s.size()
	return w - 1 // terminals differ in the last column
}

// mark shows, before the next line, what that is for.
func (s *screen) mark(text string) {
	s.term.SetPrompt(text)
	_, _ = s.term.Write(nil) // as in fit
}

// line waits for a line. At the end of input the error is io.EOF.
func (s *screen) line() (line string, e lineOrigin, err error) {
	line, err = s.term.ReadLine()
	if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
		return "", e, err
	}
	return strings.TrimSpace(textFor.Replace(line)), s.keys.entered(), nil
}

// close leaves the terminal at the beginning of an empty row.
func (s *screen) close() {
	s.mark("")
	s.term.SetBracketedPasteMode(false)
	_, _ = s.term.Write([]byte("\r\x1b[K")) // as in fit
}

// columnsOf returns the number of columns of a character in a terminal, at this column.
func columnsOf(r rune, column int) int {
	switch {
	case r == '\t':
		return 8 - column%8
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
