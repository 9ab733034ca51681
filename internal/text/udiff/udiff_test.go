package udiff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLines(t *testing.T) {
	for name, tc := range map[string]struct{ before, after, want string }{
		"equal":         {"a\n", "a\n", ""},
		"both empty":    {"", "", ""},
		"a new file":    {"", "a\n\nb\n", "@@ -0,0 +1,3 @@\n+a\n+\n+b\n"},
		"a file gone":   {"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		"one line":      {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		"two hunks":     {"a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n", "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n"},
		"no line end":   {"a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"other ends":    {"a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n"},
		"like a header": {"", "-- a\n++ b\n", "@@ -0,0 +1,2 @@\n+-- a\n+++ b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, l := range Lines(tc.before, tc.after) {
				require.Equal(t, byte(l.Kind), l.Text[0])
				b.WriteString(l.Text + "\n")
			}
			require.Equal(t, tc.want, b.String())
		})
	}
}

// A change of everything in a large text ends soon, and holds both texts.
func TestLargeTexts(t *testing.T) {
	var before, after strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&before, "old %d\n", i)
		fmt.Fprintf(&after, "new %d\n", i)
	}
	count := map[LineKind]int{}
	for _, l := range Lines(before.String(), after.String()) {
		count[l.Kind]++
	}
	require.Equal(t, map[LineKind]int{Hunk: 1, Removed: 50_000, Added: 50_000}, count)
}

// FuzzLines: the removed and shared lines are the old text, the added and shared
// ones the new, when all lines are in reach of the context.
func FuzzLines(f *testing.F) {
	f.Add("a\nb\n", "a\nc")
	f.Add("", "x")
	f.Add("a\rb\n\n", "a\rb\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		var removed, added []string
		for _, l := range Lines(before, after) {
			switch l.Kind {
			case Removed:
				removed = append(removed, l.Text[1:])
			case Added:
				added = append(added, l.Text[1:])
			case Context, Hunk, Remark:
			default:
				t.Fatalf("a line of the kind %q", l.Kind)
			}
		}
		require.Equal(t, before == after, len(removed)+len(added) == 0)
		require.Subset(t, linesOf(before), removed)
		require.Subset(t, linesOf(after), added)
	})
}

func linesOf(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// Two changes become one where they do not touch, in whichever order they are given.
func TestMerge(t *testing.T) {
	const base = "1\n2\n3\n4\n5\n"
	for name, c := range map[string]struct{ one, other, both string }{
		"apart":           {"0\n1\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n", "0\n1\n2\n3\n4\nfive\n"},
		"the same":        {"1\n2\nx\n4\n5\n", "1\n2\nx\n4\n5\n", "1\n2\nx\n4\n5\n"},
		"one of them":     {base, "1\n5\n", "1\n5\n"},
		"at one place":    {"a\n1\n2\n3\n4\n5\n", "b\n1\n2\n3\n4\n5\n", ""},
		"the same lines":  {"1\n2\nx\n4\n5\n", "1\n2\ny\n4\n5\n", ""},
		"one in another":  {"1\n2\nx\n4\n5\n", "1\n5\n", ""},
		"next each other": {"1\n2\nx\n4\n5\n", "1\n2\n3\ny\n5\n", ""},
	} {
		for _, texts := range [][2]string{{c.one, c.other}, {c.other, c.one}} {
			both, ok := Merge(base, texts[0], texts[1])
			require.Equal(t, c.both != "", ok, name)
			require.Equal(t, c.both, both, name)
		}
	}
}
