package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render/export"
)

// A prompt's usage consists of droid's numbers: its input excludes the cache, and no number is made up.
func TestPromptUsage(t *testing.T) {
	require.Nil(t, promptUsage(stream.TokenUsage{}))
	require.Nil(t, promptUsage(stream.TokenUsage{InputTokens: 100, OutputTokens: -1}))
	require.Equal(t, &protocol.Usage{TotalTokens: 117, InputTokens: 60, OutputTokens: 10, ThoughtTokens: 4, CachedReadTokens: 40, CachedWriteTokens: 7},
		promptUsage(stream.TokenUsage{InputTokens: 60, OutputTokens: 10, CacheReadTokens: 40, CacheCreationTokens: 7, ThinkingTokens: 4}))
	one := stream.TokenUsage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheCreationTokens: 4, ThinkingTokens: 5}
	require.Equal(t, stream.TokenUsage{InputTokens: 2, OutputTokens: 4, CacheReadTokens: 6, CacheCreationTokens: 8, ThinkingTokens: 10}, sumUsage(one, one))
}

// The usage of a turn is kept with the user's message, for the exported page. A turn that droid began has none.
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
	require.Equal(t, map[string]export.Turn{"m1": {Model: "model-a", Used: used}, "m2": {Model: "model-b"}}, turns)
	clear(turns)
	require.Len(t, u.past(), 2)
	require.Empty(t, u.running)
}
