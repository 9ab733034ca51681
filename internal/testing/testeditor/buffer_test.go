package testeditor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnchors: what an agent writes goes to where the text that it has read stands now.
func TestAnchors(t *testing.T) {
	for name, tc := range map[string]struct {
		read, write string
		between     []string // texts that the buffer had in between
		want        string
	}{
		"nothing in between":              {"a\nb\nc\n", "a\nB\nc\n", nil, "a\nB\nc\n"},
		"a line above":                    {"a\nb\nc\n", "a\nB\nc\n", []string{"0\na\nb\nc\n"}, "0\na\nB\nc\n"},
		"a line right before":             {"a\nb\nc\n", "a\nB\nc\n", []string{"a\nX\nb\nc\n"}, "a\nX\nB\nc\n"},
		"a line right behind":             {"a\nb\nc\n", "a\nB\nc\n", []string{"a\nb\nX\nc\n"}, "a\nB\nX\nc\n"},
		"lines in several steps":          {"a\nb\nc\n", "a\nB\nc\n", []string{"0\na\nb\nc\n", "0\na\nb\nc\nd\n", "0\na\nX\nb\nc\nd\n"}, "0\na\nX\nB\nc\nd\n"},
		"removed above":                   {"a\nb\nc\n", "a\nb\nC\n", []string{"b\nc\n"}, "b\nC\n"},
		"the end":                         {"a\n", "a\nb\n", []string{"0\na\n"}, "0\na\nb\n"},
		"the new text, replaced":          {"a\nold\nc\n", "a\nnew\nc\n", []string{"a\nnew\nc\n"}, "a\nnew\nnew\nc\n"},
		"the new text, all of it":         {"old\n", "new\n", []string{"new\n"}, "new\nnew\n"},
		"the new text, in two places":     {"a\nb\nc\nd\ne\n", "a\nB\nc\nD\ne\n", []string{"a\nB\nc\nD\ne\n"}, "a\nB\nB\nc\nD\nD\ne\n"},
		"the new text and back":           {"a\nold\nc\n", "a\nnew\nc\n", []string{"a\nnew\nc\n", "a\nold\nc\n"}, "a\nold\nnew\nc\n"},
		"the new text, added":             {"a\nc\n", "a\nb\nc\n", []string{"a\nb\nc\n"}, "a\nb\nc\n"},
		"the new text, added at the end":  {"a\n", "a\nb\n", []string{"a\nb\n"}, "a\nb\n"},
		"the new text, removed":           {"a\nb\nc\n", "a\nc\n", []string{"a\nc\n"}, "a\nc\n"},
		"what was to be replaced is gone": {"a\nb\nc\n", "a\nB\nc\n", []string{"a\nc\n"}, "a\nB\nc\n"},
		"two edits meet":                  {"a\nb\nc\nd\n", "A\nb\nc\nD\n", []string{"a\nd\n"}, "A\nD\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &buffer{text: tc.read}
			read := b.snapshot()
			for _, text := range tc.between {
				b.apply(difference(b.text, text), user)
			}
			b.apply(b.anchored(read, difference(read.text, tc.write)), agent)
			require.Equal(t, tc.want, b.text)
		})
	}
}
