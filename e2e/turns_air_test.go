//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// TestAir checks that JetBrains' client gets typed failures and the end of a load's replay, and can copy a session up to a message.
func TestAir(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("first", modelserver.Step{Text: "Answer 1."})
		model.On("second", modelserver.Step{Text: "Answer 2."})
		model.On("broke", modelserver.Step{Status: 402})
		c := startAgent(t, h)
		air := map[string]any{"version": 1, "capabilities": []any{"sessionFailure", "loadReplayEnd"}}
		meta := func(fields any) map[string]any { return map[string]any{"jetbrains": map[string]any{"air": fields}} }
		c.mustCall("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"_meta": meta(air)}, "clientInfo": knownEditor}, nil)
		s := c.openSession(h)
		first := s.prompt("first")
		first.end(turnLimit)
		message := first.awaitUpdate("the answer", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" && u.MessageID != "" }).MessageID
		s.say("second")

		broke := s.prompt("broke")
		require.NotNil(t, broke.end(failureLimit).Err)
		var failed struct {
			Meta struct {
				JetBrains struct {
					Air struct {
						SessionFailure struct {
							Category, Reason string
							Actions          []string
						}
					}
				}
			} `json:"_meta"`
		}
		require.NoError(t, json.Unmarshal([]byte(broke.awaitUpdate("the failure", func(u update) bool { return u.SessionUpdate == "session_info_update" && u.Title == "" }).raw), &failed))
		require.Equal(t, "limit", failed.Meta.JetBrains.Air.SessionFailure.Category)
		require.Equal(t, "model_usage_exhausted", failed.Meta.JetBrains.Air.SessionFailure.Reason)
		require.Empty(t, failed.Meta.JetBrains.Air.SessionFailure.Actions)

		params := h.params(s.id)
		params["_meta"] = meta(map[string]any{"fork": map[string]any{"version": 1, "messageId": message}})
		var copied newSession
		c.mustCall("session/fork", params, &copied)
		from := c.seen()
		c.mustCall("session/load", h.params(copied.SessionID), nil)
		replayed, _ := c.messages(from)
		require.Equal(t, []said{{"user", "first"}, {"agent", "Answer 1."}}, replayed)

		model.On("where", modelserver.Step{Text: "Here."})
		for in, all := range map[string]bool{s.id: true, copied.SessionID: false} {
			session{c, in}.say("where")
			body := string(lastRequest(model).Body)
			require.Contains(t, body, "Answer 1.")
			require.Equal(t, all, strings.Contains(body, "Answer 2."), "the original goes on with all of it: %v", all)
		}
	})
}
