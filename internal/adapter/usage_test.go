package adapter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/fakedroid"
	"droid-acp/internal/protocol"
)

// A client that counts tokens by the response of a prompt: it is told what this turn
// took, and nothing where droid tells that too late or a command is answered here.
func TestUsageOfPrompt(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(uses(fakedroid.Tool{ID: "r", Name: "LS", Result: "a"}), v))
		told := func(text string) *protocol.Usage {
			answer := e.await(e.prompt(text))
			require.Nil(t, answer.Error)
			var r protocol.PromptResult
			require.NoError(t, json.Unmarshal(answer.Result, &r))
			return r.Usage
		}
		for range 2 {
			usage := told("go")
			if strings.Contains(t.Name(), string(fakedroid.V099)) {
				require.Nil(t, usage)
				continue
			}
			require.Equal(t, &protocol.Usage{TotalTokens: 220, InputTokens: 200, OutputTokens: 20}, usage, "two calls of the model, each time")
		}
		require.Nil(t, told("/help"), "no model was asked")
	})
}

// What a usage is made of: droid's input is without the cache, and no number is invented.
func TestUsageOf(t *testing.T) {
	require.Nil(t, usageOf(stream.TokenUsage{}))
	require.Nil(t, usageOf(stream.TokenUsage{InputTokens: 100, OutputTokens: -1}))
	require.Equal(t, &protocol.Usage{TotalTokens: 117, InputTokens: 60, OutputTokens: 10, ThoughtTokens: 4, CachedReadTokens: 40, CachedWriteTokens: 7},
		usageOf(stream.TokenUsage{InputTokens: 60, OutputTokens: 10, CacheReadTokens: 40, CacheCreationTokens: 7, ThinkingTokens: 4}))
	var p userPrompt
	p.add(stream.TokenUsage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheCreationTokens: 4, ThinkingTokens: 5})
	p.add(stream.TokenUsage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheCreationTokens: 4, ThinkingTokens: 5})
	require.Equal(t, stream.TokenUsage{InputTokens: 2, OutputTokens: 4, CacheReadTokens: 6, CacheCreationTokens: 8, ThinkingTokens: 10}, p.used)
}
