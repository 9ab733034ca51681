package adapter

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// A prompt of the history has a word for what the user attached to it.
func TestExportedPromptNamesItsFiles(t *testing.T) {
	var messages []stream.Message
	require.NoError(t, json.Unmarshal([]byte(`[{"id":"u","role":"user","content":[
		{"type":"document","source":{"type":"text","mediaType":"text/plain","name":"/w/a.txt"}},{"type":"text","text":"read it"}]}]`), &messages))
	require.Equal(t, []exported{{Kind: "user", Text: "read it\n\n[attached: /w/a.txt]"}}, exportParts(messages, "/w"))
}
