package usage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render/export"
)

// What a usage is made of: droid's input is without the cache, and no number is invented.
func TestOf(t *testing.T) {
	require.Nil(t, Of(stream.TokenUsage{}))
	require.Nil(t, Of(stream.TokenUsage{InputTokens: 100, OutputTokens: -1}))
	require.Equal(t, &protocol.Usage{TotalTokens: 117, InputTokens: 60, OutputTokens: 10, ThoughtTokens: 4, CachedReadTokens: 40, CachedWriteTokens: 7},
		Of(stream.TokenUsage{InputTokens: 60, OutputTokens: 10, CacheReadTokens: 40, CacheCreationTokens: 7, ThinkingTokens: 4}))
	one := stream.TokenUsage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheCreationTokens: 4, ThinkingTokens: 5}
	require.Equal(t, stream.TokenUsage{InputTokens: 2, OutputTokens: 4, CacheReadTokens: 6, CacheCreationTokens: 8, ThinkingTokens: 10}, Sum(one, one))
}

// What a turn took is kept by the user's message, for the exported page. A turn that droid
// began by itself has none.
func TestTurnsSeen(t *testing.T) {
	var u Usage
	require.Empty(t, u.Past())
	used := stream.TokenUsage{InputTokens: 5, OutputTokens: 1}
	u.Began(quirks.TurnStarted{RequestID: "1", MessageID: "m1"}, "model-a")
	u.Began(quirks.TurnStarted{}, "model-a")
	u.Finished(quirks.TurnEnded{Used: used})
	u.Finished(quirks.TurnEnded{RequestID: "1", Used: used})
	u.Finished(quirks.TurnEnded{RequestID: "1", Used: stream.TokenUsage{InputTokens: 7}})
	u.Began(quirks.TurnStarted{RequestID: "2", MessageID: "m2"}, "model-b")
	u.Finished(quirks.TurnEnded{RequestID: "2", Used: stream.TokenUsage{InputTokens: -1}})
	u.Finished(quirks.TurnEnded{RequestID: "never"})
	turns := u.Past()
	require.Equal(t, map[string]export.Turn{"m1": {Model: "model-a", Used: used}, "m2": {Model: "model-b"}}, turns)
	clear(turns)
	require.Len(t, u.Past(), 2)
	require.Empty(t, u.running)
}
