package patch

import (
	"errors"
	"fmt"
	"strings"
)

// errTooLarge means that patch and file are so large, and their lines so similar, that locating the hunks would take too long.
var errTooLarge = errors.New("the patch takes too long to apply")

const (
	// maxWork bounds the search for all hunks of a file, in line comparisons. It takes about 50 ms.
	maxWork = 16 << 20
	// bytesCompared is the number of bytes that counts as one more comparison when two lines of the same length are compared.
	bytesCompared = 32
)

// Apply returns the patched text of an updated file. The lines of the hunks must match exactly, or except for surrounding white space.
func (f File) Apply(text string) (string, error) {
	a := applier{rest: lines{text: strings.Split(text, "\n")}, work: maxWork}
	for i, h := range f.Hunks {
		if err := a.hunk(h); err != nil {
			return "", fmt.Errorf("hunk %d: %w", i+1, err)
		}
	}
	return strings.Join(append(a.done, a.rest.text...), "\n"), nil
}

// applier is the state of applying hunks in order.
type applier struct {
	done []string // lines before the current position, patched
	rest lines    // lines after it
	work int      // remaining comparisons, see maxWork
}

// lines are lines of a text.
type lines struct {
	text    []string
	trimmed []string // the same without surrounding white space; nil until needed
}

func (l *lines) trim() []string {
	if l.trimmed == nil {
		l.trimmed = make([]string, len(l.text))
		for i, line := range l.text {
			l.trimmed[i] = strings.TrimSpace(line)
		}
	}
	return l.trimmed
}

// skip drops the first n lines.
func (l *lines) skip(n int) {
	l.text = l.text[n:]
	if l.trimmed != nil {
		l.trimmed = l.trimmed[n:]
	}
}

// hunk applies h.
func (a *applier) hunk(h Hunk) error {
	if h.Anchor != "" {
		n, err := a.find([]string{h.Anchor}, false)
		if err != nil {
			return fmt.Errorf("its anchor: %w", err)
		}
		a.copyLines(n + 1)
	}
	if len(h.Old) == 0 {
		a.append(h.New)
		return nil
	}
	n, err := a.find(h.Old, h.AtEnd)
	if err != nil {
		return fmt.Errorf("its lines: %w", err)
	}
	a.copyLines(n)
	a.rest.skip(len(h.Old))
	a.done = append(a.done, h.New...)
	return nil
}

// copyLines keeps n lines unchanged.
func (a *applier) copyLines(n int) {
	a.done = append(a.done, a.rest.text[:n]...)
	a.rest.skip(n)
}

// append adds lines at the end of the text, before a final newline.
func (a *applier) append(added []string) {
	a.copyLines(len(a.rest.text))
	if n := len(a.done); n > 0 && a.done[n-1] == "" {
		a.done = a.done[:n-1]
		a.rest = lines{text: []string{""}}
	}
	a.done = append(a.done, added...)
}

var errNotFound = errors.New("not in the text")

// find returns the index in the rest of the first exact match of want, or else of the first match ignoring surrounding white space. With
// last it is the last match.
func (a *applier) find(want []string, last bool) (int, error) {
	n, err := a.search(a.rest.text, want, last)
	if err != errNotFound {
		return n, err
	}
	trimmed := lines{text: want}
	return a.search(a.rest.trim(), trimmed.trim(), last)
}

func (a *applier) search(in, want []string, last bool) (int, error) {
	found := -1
	for n := 0; n+len(want) <= len(in); n++ {
		same, err := a.matches(in[n:], want)
		if err != nil {
			return -1, err
		}
		if same {
			found = n
			if !last {
				break
			}
		}
	}
	if found < 0 {
		return -1, errNotFound
	}
	return found, nil
}

func (a *applier) matches(in, want []string) (bool, error) {
	for i, w := range want {
		a.work--
		if len(in[i]) == len(w) {
			a.work -= len(w) / bytesCompared
		}
		if a.work < 0 {
			return false, errTooLarge
		}
		if in[i] != w {
			return false, nil
		}
	}
	return true, nil
}
