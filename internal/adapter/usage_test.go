package adapter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
