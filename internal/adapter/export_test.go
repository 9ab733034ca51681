package adapter

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/transcript"
)

func TestExportedFile(t *testing.T) {
	dir := t.TempDir()
	a := New(Config{Log: zap.NewNop()})
	path, err := a.exportTo(t.Context(), new(stream.SessionInfo), "s7", dir, "", nil)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "droid-s7.html"), path)
	require.FileExists(t, path)
	_, err = a.exportTo(t.Context(), new(stream.SessionInfo), "s7", dir, "droid-s7.html", nil)
	require.ErrorContains(t, err, "droid-s7.html exists")
}

// What a turn took is kept by the user's message, for the exported page. A turn that droid
// began by itself has none.
func TestTurnsSeen(t *testing.T) {
	var u usage
	require.Empty(t, u.past())
	used := stream.TokenUsage{InputTokens: 5, OutputTokens: 1}
	u.began(quirks.TurnStarted{RequestID: "1", MessageID: "m1"}, "model-a")
	u.began(quirks.TurnStarted{}, "model-a")
	u.finished(quirks.TurnEnded{Used: used})
	u.finished(quirks.TurnEnded{RequestID: "1", Used: used})
	u.finished(quirks.TurnEnded{RequestID: "1", Used: stream.TokenUsage{InputTokens: 7}})
	u.began(quirks.TurnStarted{RequestID: "2", MessageID: "m2"}, "model-b")
	u.finished(quirks.TurnEnded{RequestID: "2", Used: stream.TokenUsage{InputTokens: -1}})
	u.finished(quirks.TurnEnded{RequestID: "never"})
	turns := u.past()
	require.Equal(t, map[string]transcript.Turn{"m1": {Model: "model-a", Used: used}, "m2": {Model: "model-b"}}, turns)
	clear(turns)
	require.Len(t, u.past(), 2)
	require.Empty(t, u.running)
}
