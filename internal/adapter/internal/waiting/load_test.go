package waiting

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// TestLoad: a load has one answer, with which its history ends, and is over when that is
// written, unless the next one has begun.
func TestLoad(t *testing.T) {
	var l Load[int]
	require.Zero(t, l.Open())
	require.False(t, l.Answer(1))
	l.Begin(1)
	require.True(t, l.Has(1))
	require.Equal(t, 1, l.Open())
	require.False(t, l.Answer(2))
	l.Show(&stream.SessionInfo{}, false)
	require.True(t, l.Shows())
	require.True(t, l.Answer(1))
	require.False(t, l.Answer(1), "once")
	require.False(t, l.Shows())
	require.False(t, l.Has(1))
	require.Zero(t, l.Open())
	l.Begin(2)
	l.Written(1)
	require.Equal(t, 2, l.Open())
	l.Written(2)
	require.Zero(t, l.Open())
}

// TestHistory: each event once.
func TestHistory(t *testing.T) {
	var messages []stream.Message
	require.NoError(t, json.Unmarshal([]byte(`[{"id":"u","role":"user","content":[{"type":"text","text":"one"}]},
		{"id":"a","role":"assistant","content":[{"type":"text","text":"two"}]}]`), &messages))
	info := &stream.SessionInfo{Messages: messages, Title: "title", HasOlderMessages: true, Unreadable: 2}
	var l Load[int]
	l.Begin(1)
	l.Show(info, false)
	require.Nil(t, info.Messages)
	require.Equal(t, "title", l.Title())
	require.Equal(t, []string{"The session has older messages that droid did not return.",
		"Not shown are 2 of the session's messages: droid told them in a form that droid-acp cannot read."}, l.Lacks())
	var texts []string
	for ev := l.Next(); ev != nil; ev = l.Next() {
		switch ev := ev.(type) {
		case quirks.UserText:
			texts = append(texts, ev.Text)
		case quirks.Text:
			texts = append(texts, ev.Text)
		}
	}
	require.Equal(t, []string{"one", "two"}, texts)
	require.True(t, l.Shows())
	l.Told()
	require.False(t, l.Shows())
	require.True(t, l.Opened())
}
