package patch

import (
	"errors"
	"fmt"
	"strings"
)

// ErrTooLarge says that a patch and its file are so large, and so much alike in
// their lines, that it would take too long to find where the patch belongs.
var ErrTooLarge = errors.New("the patch takes too long to apply")

const (
	// maxWork bounds the search for all hunks of a file, in comparisons of lines; it
	// takes some 50 ms.
	maxWork = 16 << 20
	// bytesCompared is how much of two lines of the same length counts as one
	// comparison more.
	bytesCompared = 32
)

// Apply returns what an updated file's text becomes. Its lines must match
// exactly, or but for space at their ends.
func (f File) Apply(text string) (string, error) {
	a := applying{rest: lines{text: strings.Split(text, "\n")}, work: maxWork}
	for i, h := range f.Hunks {
		if err := a.hunk(h); err != nil {
			return "", fmt.Errorf("hunk %d: %w", i+1, err)
		}
	}
	return strings.Join(append(a.done, a.rest.text...), "\n"), nil
}

// applying is a patch under way in a text. The hunks follow on each other.
type applying struct {
	done []string // what the hunks so far have gone through
	rest lines    // what lies behind it
	work int      // what may still be compared
}

// lines are lines of a text.
type lines struct {
	text    []string
	trimmed []string // the same without space at their ends, once that was asked for
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

// hunk replaces the lines of h.
func (a *applying) hunk(h Hunk) error {
	if h.Anchor != "" {
		n, err := a.find([]string{h.Anchor}, false)
		if err != nil {
			return fmt.Errorf("its anchor: %w", err)
		}
		a.pass(n + 1)
	}
	if len(h.Old) == 0 {
		a.append(h.New)
		return nil
	}
	n, err := a.find(h.Old, h.AtEnd)
	if err != nil {
		return fmt.Errorf("its lines: %w", err)
	}
	a.pass(n)
	a.rest.skip(len(h.Old))
	a.done = append(a.done, h.New...)
	return nil
}

// pass leaves n lines as they are.
func (a *applying) pass(n int) {
	a.done = append(a.done, a.rest.text[:n]...)
	a.rest.skip(n)
}

// append adds lines at the end of the text, before its last newline.
func (a *applying) append(added []string) {
	a.pass(len(a.rest.text))
	if n := len(a.done); n > 0 && a.done[n-1] == "" {
		a.done = a.done[:n-1]
		a.rest = lines{text: []string{""}}
	}
	a.done = append(a.done, added...)
}

var errNotFound = errors.New("not in the text")

// find returns where want begins in the rest: the first place where it is the
// same, else the first where it is but for space; with last the last such place.
func (a *applying) find(want []string, last bool) (int, error) {
	n, err := a.search(a.rest.text, want, last)
	if err != errNotFound {
		return n, err
	}
	trimmed := lines{text: want}
	return a.search(a.rest.trim(), trimmed.trim(), last)
}

func (a *applying) search(in, want []string, last bool) (int, error) {
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

func (a *applying) matches(in, want []string) (bool, error) {
	for i, w := range want {
		a.work--
		if len(in[i]) == len(w) {
			a.work -= len(w) / bytesCompared
		}
		if a.work < 0 {
			return false, ErrTooLarge
		}
		if in[i] != w {
			return false, nil
		}
	}
	return true, nil
}
