package quirks

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// The input of a call is kept as long as the call is open: it may be a file, and
// there may be thousands of calls.
func TestInputsOfEndedCallsAreNotKept(t *testing.T) {
	n := New(stream.Version{})
	use := stream.ToolUse{ID: "t", Name: "Create", Input: json.RawMessage(`{"content": "a file"}`)}
	n.Begin(time.Time{}, "p", "")
	n.Handle(time.Time{}, stream.ToolCall{ToolUse: use})
	n.Handle(time.Time{}, stream.ToolResult{ToolUseID: "t", Content: json.RawMessage(`"ok"`)})
	c := n.tools.newest["t"]
	require.True(t, c.ended)
	require.Empty(t, c.first)
	require.Empty(t, c.latest)

	use.Input = json.RawMessage(`{"content":"a file"}`)
	require.Empty(t, n.Handle(time.Time{}, stream.ToolCall{ToolUse: use}), "the same call again is still known")
}

func FuzzDigest(f *testing.F) {
	f.Add(`{"a": [1, "x \" y"], "b":"\\" }`, `{"a":[1,"x \" y"],"b":"\\"}`)
	f.Add(`" a"`, `"a"`)
	f.Add(`1`, `2`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if !json.Valid([]byte(a)) || !json.Valid([]byte(b)) {
			return
		}
		var x, y bytes.Buffer
		require.NoError(t, json.Compact(&x, []byte(a)))
		require.NoError(t, json.Compact(&y, []byte(b)))
		require.Equal(t, bytes.Equal(x.Bytes(), y.Bytes()), digestOf([]byte(a)) == digestOf([]byte(b)))
	})
}
