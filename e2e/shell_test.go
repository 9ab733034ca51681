//go:build e2e && linux

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// What the user runs reaches the model with the next prompt, and with no other.
func TestShell(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("erstens", modelserver.Step{Text: "I see."})
		model.On("zweitens", modelserver.Step{Text: "Still."})
		s := startAgent(t, h, "--shell").openAs(h, terminals)
		require.Contains(t, s.commands(), "shell")
		end := s.prompt("!pwd; echo marked-$((40+2)); exit 5").done()
		require.Equal(t, []string{"failed"}, end.tools())
		shown, _, exit := terminalOf(t, end.Updates)
		require.Equal(t, h.work+"\nmarked-42\n", shown)
		require.Equal(t, 5, *exit)

		running := s.prompt("/shell echo begun; sleep 300")
		running.awaitUpdate("output", func(u update) bool { return u.SessionUpdate == "tool_call_update" && u.Status == "" })
		s.notify("session/cancel", map[string]any{"sessionId": s.id})
		require.Equal(t, "cancelled", running.end(2*time.Second).Stop)
		h.awaitNone(t, 2*time.Second, func(p process) bool { return p.command == "sleep 300 " })

		for _, prompt := range []string{"erstens", "zweitens"} {
			require.Equal(t, "end_turn", s.prompt(prompt).end(turnLimit).Stop)
			seen := 0
			for _, m := range lastRequest(model).Messages {
				if m.Role == "user" {
					seen += strings.Count(m.Text(), "marked-42")
				}
			}
			require.Equal(t, 1, seen, prompt)
		}
	})
}
