package adapter

import (
	"encoding/json"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/problem"
	"droid-acp/internal/quirks"
)

// TestReplay: each event once, and one end.
func TestReplay(t *testing.T) {
	var r replay
	r.end(nil)
	require.False(t, r.runs())
	var messages []stream.Message
	require.NoError(t, json.Unmarshal([]byte(`[{"id":"u","role":"user","content":[{"type":"text","text":"one"}]},
		{"id":"a","role":"assistant","content":[{"type":"text","text":"two"}]}]`), &messages))
	info := &stream.SessionInfo{Messages: messages, Title: "title", HasOlderMessages: true, Unreadable: 2}
	var ends []*acp.RequestError
	r.begin(t.Context(), info, func(err *acp.RequestError) {
		require.False(t, r.runs(), "another one may begin")
		ends = append(ends, err)
	})
	require.True(t, r.runs())
	require.Nil(t, info.Messages)
	require.Equal(t, "title", r.title)
	require.Equal(t, []string{"The session has older messages that droid did not return.",
		"Not shown are 2 of the session's messages: droid told them in a form that droid-acp cannot read."}, r.lacks)
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
	refused := problem.Cancelled()
	r.end(refused)
	r.end(nil)
	require.Equal(t, []*acp.RequestError{refused}, ends)
}
