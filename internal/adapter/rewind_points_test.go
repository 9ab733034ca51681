package adapter

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// TestPoints: each prompt once, with all its text.
func TestPoints(t *testing.T) {
	var messages []stream.Message
	require.NoError(t, json.Unmarshal([]byte(`[
		{"id":"1","role":"user","content":[{"type":"text","text":"one\nmore lines"}]},
		{"id":"2","role":"assistant","content":[{"type":"text","text":"answer"}]},
		{"id":"3","role":"user","content":[{"type":"text","text":"two"}]}]`), &messages))
	points := rewindPoints(messages)
	require.Equal(t, []rewindPoint{{"1", "one\nmore lines"}, {"3", "two"}}, points)
	require.Contains(t, listRewindPoints(points), "1. one …\n2. two\n")
	require.Empty(t, rewindPoints(nil))
}
