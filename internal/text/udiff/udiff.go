// Package udiff makes the lines of a unified diff, as `diff -u` shows a change:
// the lines that change with three lines of context. The comparison itself is
// github.com/aymanbagabas/go-udiff, which is the one of the Go tools.
package udiff

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Kind is what a line of a diff is; it is the sign that begins the line in the
// unified format.
type Kind byte

// Kinds of lines.
const (
	Hunk    Kind = '@'  // "@@ -1,3 +1,4 @@": which lines of the two texts follow
	Context Kind = ' '  // a line of both texts
	Removed Kind = '-'  // a line of the old text alone
	Added   Kind = '+'  // a line of the new text alone
	Remark  Kind = '\\' // "\ No newline at end of file", of the line before
)

// Line is one line of a diff, without its line end.
type Line struct {
	Kind Kind
	Text string // with the sign that begins it, as in the unified format
}

// context is how many lines stand before and after those that change.
const context = 3

// Lines compares two texts. It returns the hunks without the two lines that name the
// files, and nothing for equal texts. The result is a right diff of any two texts,
// and a short one of texts that are alike; it takes no longer than a fraction of a
// second for some MB.
func Lines(before, after string) []Line {
	if before == after {
		return nil
	}
	diff, err := udiff.ToUnified("", "", before, udiff.Lines(before, after), context)
	if err != nil { // cannot be: it is for edits that are not of this text
		return whole(before, after)
	}
	lines := split(diff)
	return lines[min(2, len(lines)):] // the names
}

// whole is the diff that removes one text and adds the other.
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
			lines = append(lines, Line{Kind(line[0]), line})
		}
	}
	return lines
}

// Merge makes two changes of a text in one. It reports false where they touch each other: then
// nobody can tell which lines stand first, or which of them are wanted.
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
