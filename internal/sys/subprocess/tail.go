package subprocess

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// Limits of a Tail.
const (
	TailLines = 20
	TailLine  = 2 << 10 // bytes
)

// Tail is an io.Writer that keeps the last TailLines non-empty lines, each cut to TailLine bytes, as valid UTF-8. The zero value is ready
// to use.
type Tail struct {
	mu      sync.Mutex
	lines   []string
	count   int    // all non-empty lines, kept or not
	partial []byte // the current line, at most TailLine bytes
}

// Write implements io.Writer; it never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	for {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		t.partial = append(t.partial, line[:min(len(line), TailLine-len(t.partial))]...)
		if !found {
			return n, nil
		}
		t.flush()
		p = rest
	}
}

// flush ends the current line.
func (t *Tail) flush() {
	line := strings.ToValidUTF8(string(bytes.TrimRight(t.partial, "\r ")), "\uFFFD")
	t.partial = t.partial[:0]
	if line == "" {
		return
	}
	t.count++
	t.lines = append(t.lines, line)
	t.lines = t.lines[max(0, len(t.lines)-TailLines):]
}

// Lines returns the kept lines, including an unfinished last one, and the number of all lines.
func (t *Tail) Lines() (lines []string, count int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	return slices.Clone(t.lines), t.count
}
