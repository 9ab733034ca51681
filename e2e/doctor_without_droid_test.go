//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// Without a droid a session opens, and its prompt says what to do. Once droid is installed, the next prompt creates the session under the
// ID that the editor has, also for an agent that is started later.
func TestSessionWithoutDroid(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("say first", modelserver.Step{Text: "SAID-FIRST."})
		model.On("say second", modelserver.Step{Text: "SAID-SECOND."})
		droid := h.droid
		h.droid = filepath.Join(t.TempDir(), "droid")
		c := startAgent(t, h)
		s := c.open(h)
		end := s.prompt("say first").end(turnLimit)
		require.NotNil(t, end.Err)
		require.Contains(t, end.Err.Message, "droid not found")
		require.Contains(t, end.Err.Error(), "Install Factory's droid with `", "what to do")
		require.NoError(t, os.Symlink(droid, h.droid))
		end = s.prompt("say first").end(turnLimit)
		require.Equal(t, "end_turn", end.Stop, "%v", end.Err)
		require.Contains(t, end.text(), "SAID-FIRST.")
		c.end(h)

		c = startAgent(t, h)
		c.initialize()
		require.Equal(t, []string{s.id}, c.listed(h), "it is the id of droid's own session")
		c.mustCall("session/load", map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{}}, nil)
		end = session{c, s.id}.prompt("say second").end(turnLimit)
		require.Contains(t, end.text(), "SAID-SECOND.")
		requests := model.Requests()
		require.Contains(t, string(requests[len(requests)-1].Body), "SAID-FIRST.")
	})
}
