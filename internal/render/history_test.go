package render

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/quirks"
)

// A prompt of the history is one text: the user's, and the attachments that it does not mention.
func TestUserPromptText(t *testing.T) {
	files := func(names ...string) (all []quirks.UserFile) {
		for _, name := range names {
			all = append(all, quirks.UserFile{Name: name})
		}
		return all
	}
	for _, c := range []struct {
		text  string
		files []quirks.UserFile
		want  string
	}{
		{"hi", nil, "hi"},
		{"read @/w/a.txt and @/else/b.pdf ", files("/w/a.txt", "b.pdf"), "read @/w/a.txt and @/else/b.pdf "},
		{"read @sub/a.txt", files("/w/sub/a.txt"), "read @sub/a.txt"},
		{"read it", files("/w/a.txt", ""), "read it\n\n[attached: /w/a.txt]\n\n[attached: a file]"},
		{"", files("/w/a.txt"), "[attached: /w/a.txt]"},
		{"see @/w/my notes.txt (there is no such file) and @/w/b (there is no such file) ", nil, "see @/w/my notes.txt and @/w/b "},
		{"(there is no such file) says ls", nil, "(there is no such file) says ls"},
		{"ask @me (there is no such file)", nil, "ask @me (there is no such file)"},
	} {
		require.Equal(t, c.want, UserPromptText(quirks.UserText{Text: c.text, Files: c.files}, "/w"))
	}
}
