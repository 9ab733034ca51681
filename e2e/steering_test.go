//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// steer sends a steering message, and returns what came of it.
func (s session) steer(text string) (outcome string) {
	s.t.Helper()
	var result struct {
		Outcome string `json:"outcome"`
	}
	s.mustCall("_session/steering", map[string]any{"sessionId": s.id, "prompt": []any{map[string]any{"type": "text", "text": text}},
		"_meta": map[string]any{"steering": map[string]any{"idleBehavior": "promptRequired"}}}, &result)
	return result.Outcome
}

// A steering message reaches the model within the running prompt, which ends behind its
// answer: while the model speaks, while a tool runs, and while the user is asked.
func TestSteering(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("long", modelserver.Step{Text: strings.Repeat("word ", 20), Delay: 50 * time.Millisecond})
		model.On("sleep", modelserver.Step{Text: "I wait. ", Tools: []modelserver.ToolCall{execute("a", "sleep 1; touch slept")}}, modelserver.Step{Text: "Slept."})
		model.On("touch", modelserver.Step{Text: "I touch it. ", Tools: []modelserver.ToolCall{execute("b", "touch made")}}, modelserver.Step{Text: "Made."})
		model.On("steered", modelserver.Step{Text: "I was steered."})
		c := startAgent(t, h)
		s := c.openAs(h, map[string]any{})
		var result struct {
			Meta struct {
				Steering struct{ Supported bool }
			} `json:"_meta"`
		}
		_, l := c.await("initialize", 0, turnLimit, func(l line) bool { return len(l.Result) > 0 && strings.Contains(string(l.Result), "protocolVersion") })
		require.NoError(t, json.Unmarshal(l.Result, &result))
		require.True(t, result.Meta.Steering.Supported)
		require.Equal(t, "promptRequired", s.steer("steered too early"))

		injected := func(text string) {
			require.Equal(t, "injected", s.steer(text), text)
		}
		steer := func(prompt, message string, now func(update) bool) ending {
			turn := s.prompt(prompt)
			turn.awaitUpdate("the moment", now)
			injected(message)
			end := turn.end(turnLimit)
			require.Nil(t, end.Err, prompt)
			require.Equal(t, "end_turn", end.Stop, prompt)
			require.Empty(t, end.userTexts(), prompt)
			require.Contains(t, end.text(), "I was steered.", prompt)
			require.True(t, told(model, message), prompt)
			return end
		}
		steer("long", "steered while speaking", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
		c.onPermission(allowOnce)
		steer("sleep", "steered while a tool runs", func(u update) bool { return u.Status == "in_progress" })
		asked := make(chan struct{})
		c.onPermission(func(p permission) string {
			close(asked)
			time.Sleep(500 * time.Millisecond)
			return allowOnce(p)
		})
		turn := s.prompt("touch")
		<-asked
		injected("steered while asked")
		end := turn.done()
		require.Contains(t, end.text(), "I was steered.")
		require.Equal(t, []string{"completed"}, end.tools())
		c.onPermission(rejectOnce)
		require.Equal(t, "promptRequired", s.steer("steered too late"))
	})
}
