//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// The plan is what the todo list says, each time.
func TestPlan(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		lists := []string{
			"1. [in_progress] Read\n2. [pending] Change",
			"1. [completed] Read\n2. [in_progress] Change",
			"1. [completed] Read\n2. [completed] Change\n3. [pending] Test",
		}
		var steps []modelserver.Step
		for _, list := range lists {
			steps = append(steps, modelserver.Step{Text: "On. ", Tools: []modelserver.ToolCall{{Name: "TodoWrite", Args: map[string]any{"todos": list}}}})
		}
		model.On("plan", append(steps, modelserver.Step{Text: "Planned."})...)
		c := startAgent(t, h)
		s := c.open(h)
		end := s.prompt("plan").end(turnLimit)
		require.Nil(t, end.Err)
		plans := plansOf(t, end.Updates)
		require.Equal(t, []string{
			"in_progress Read\npending Change\n",
			"completed Read\nin_progress Change\n",
			"completed Read\ncompleted Change\npending Test\n",
		}, plans)
		require.Empty(t, end.tools(), "the calls themselves are not shown")

		c.end(h)
		again := startAgent(t, h)
		again.initialize()
		from := again.seen()
		again.mustCall("session/load", map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{}}, nil)
		var replayed []update
		again.mu.Lock()
		for _, l := range again.lines[from:] {
			if u, ok := asUpdate(l); ok {
				replayed = append(replayed, u)
			}
		}
		again.mu.Unlock()
		replayedPlans := plansOf(t, replayed)
		require.NotEmpty(t, replayedPlans)
		require.Equal(t, plans[len(plans)-1], replayedPlans[len(replayedPlans)-1], "replay ends with the same plan")
	})
}

// plansOf are the plans among updates, a line an entry.
func plansOf(t *testing.T, updates []update) []string {
	t.Helper()
	var plans []string
	for _, u := range updates {
		if u.SessionUpdate != "plan" {
			continue
		}
		var p struct {
			Entries []struct{ Content, Status string }
		}
		require.NoError(t, json.Unmarshal([]byte(u.raw), &p))
		text := ""
		for _, e := range p.Entries {
			text += e.Status + " " + e.Content + "\n"
		}
		plans = append(plans, text)
	}
	return plans
}
