package adapter

import (
	"encoding/json"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// A prompt of the history is one text: what the user wrote, and what they attached
// where they did not mention it.
func TestUserWords(t *testing.T) {
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
		require.Equal(t, c.want, userWords(quirks.UserText{Text: c.text, Files: c.files}, "/w"))
	}
}

// TestReplay: each event once, and one end.
func TestReplay(t *testing.T) {
	var r replay
	r.end(nil)
	require.False(t, r.runs())
	var messages []stream.Message
	require.NoError(t, json.Unmarshal([]byte(`[{"id":"u","role":"user","content":[{"type":"text","text":"one"}]},
		{"id":"a","role":"assistant","content":[{"type":"text","text":"two"}]}]`), &messages))
	info := &stream.SessionInfo{Messages: messages, Title: "title", HasOlderMessages: true}
	var ends []*acp.RequestError
	r.begin(t.Context(), info, func(err *acp.RequestError) {
		require.False(t, r.runs(), "another one may begin")
		ends = append(ends, err)
	})
	require.True(t, r.runs())
	require.Nil(t, info.Messages)
	require.Equal(t, "title", r.title)
	require.True(t, r.older)
	var texts []string
	for ev := r.next(); ev != nil; ev = r.next() {
		switch ev := ev.(type) {
		case quirks.UserText:
			texts = append(texts, ev.Text)
		case quirks.Text:
			texts = append(texts, ev.Text)
		}
	}
	require.Equal(t, []string{"one", "two"}, texts)
	refused := requestCancelled()
	r.end(refused)
	r.end(nil)
	require.Equal(t, []*acp.RequestError{refused}, ends)
}
