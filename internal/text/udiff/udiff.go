// Package udiff compares texts line by line, as `diff -u` does, with three lines of context, and merges two changes of a text. It uses the
// comparison of the Go tools, in github.com/aymanbagabas/go-udiff. render displays edits with it, editorfs merges them.
package udiff

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// LineKind classifies a line of a diff. Its value is the first byte of the line in the unified format.
type LineKind byte

// Kinds of lines.
const (
	Hunk    LineKind = '@'  // "@@ -1,3 +1,4 @@": which lines of the two texts follow
	Context LineKind = ' '  // a line of both texts
	Removed LineKind = '-'  // a line of the old text alone
	Added   LineKind = '+'  // a line of the new text alone
	Remark  LineKind = '\\' // "\ No newline at end of file", which refers to the line before
)

// Line is one line of a diff, without its newline.
type Line struct {
	Kind LineKind
	Text string // including its first byte, as in the unified format
}

// context is the number of unchanged lines around a change.
const context = 3

// Lines compares two texts. It returns the hunks without the file header, and nil for equal texts. The result is always a correct diff, and
// a short one for similar texts; comparing some MB takes a fraction of a second.
func Lines(before, after string) []Line {
	if before == after {
		return nil
	}
	diff, err := udiff.ToUnified("", "", before, udiff.Lines(before, after), context)
	if err != nil { // unreachable: only for edits of another text
		return whole(before, after)
	}
	lines := split(diff)
	return lines[min(2, len(lines)):] // without the file header
}

// whole returns a diff that removes one text and adds the other.
func whole(before, after string) (lines []Line) {
	for line := range strings.Lines(before) {
		lines = append(lines, Line{Removed, "-" + strings.TrimSuffix(line, "\n")})
	}
	for line := range strings.Lines(after) {
		lines = append(lines, Line{Added, "+" + strings.TrimSuffix(line, "\n")})
	}
	return lines
}

func split(diff string) (lines []Line) {
	for line := range strings.Lines(diff) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			lines = append(lines, Line{LineKind(line[0]), line})
		}
	}
	return lines
}

// Merge merges two changes of a text. It returns false if they touch, since their order would be ambiguous.
func Merge(base, one, other string) (both string, ok bool) {
	ours, theirs := udiff.Lines(base, one), udiff.Lines(base, other)
	for _, x := range ours {
		if slices.ContainsFunc(theirs, func(y udiff.Edit) bool { return x != y && x.Start <= y.End && y.Start <= x.End }) {
			return "", false
		}
	}
	edits, ok := udiff.Merge(ours, theirs)
	if !ok {
		return "", false
	}
	both, err := udiff.Apply(base, edits)
	return both, err == nil
}
