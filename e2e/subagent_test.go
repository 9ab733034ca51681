//go:build e2e && linux

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// A subagent needs a Factory login (0.99) or droid's daemon (0.225), which there
// is none of here: what can be seen is that it begins, fails, and that the editor
// is told so under its call. Its further steps are in the recordings only.
func TestSubagentThatFails(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("delegate", modelserver.Step{Text: "I delegate. ", Tools: []modelserver.ToolCall{{ID: "t", Name: "Task", Args: map[string]any{
			"subagent_type": "worker", "description": "Look around", "prompt": "Read a.txt", "complexity": "light", "run_in_background": false}}}},
			modelserver.Step{Text: "It failed."})
		s := startAgent(t, h).onPermission(allowOnce).open(h)
		end := s.prompt("delegate").end(turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, "I delegate. \n\nIt failed.", end.text())
		updates := end.ofTool("t")
		require.NotEmpty(t, updates)
		titles, shown := "", ""
		for _, u := range updates {
			titles += u.Title + "\n"
			shown += itemText(u.items()) + "\n"
		}
		require.Contains(t, titles, "Task Look around")
		require.Equal(t, "failed", updates[len(updates)-1].Status)
		last := itemText(updates[len(updates)-1].items())
		if h.version == oldDroid {
			require.Contains(t, shown, "- Subagent session started\n", "its steps show while it runs")
			require.Contains(t, last, "❌ Error: Authentication failed", "and stay with the result")
		} else {
			require.Contains(t, last, "Could not reach the daemon")
			require.Contains(t, last, "its subagents need that login")
		}
	})
}
