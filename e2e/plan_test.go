//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// todoForms are the forms of a todo list. droid asks the model for text, whatever
// the model's name and API, and takes an array as well, also one that is written
// as text.
var todoForms = map[string]func(*testing.T, []todo) any{
	"text": func(_ *testing.T, list []todo) any {
		text := ""
		for i, e := range list {
			text += fmt.Sprintf("%d. [%s] %s\n", i+1, e.Status, e.Content)
		}
		return text
	},
	"array": func(_ *testing.T, list []todo) any { return list },
	"written": func(t *testing.T, list []todo) any {
		text, err := json.Marshal(list)
		require.NoError(t, err)
		return string(text)
	},
}

type todo struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"`
}

// The plan is what the todo list says, each time, and again after loading.
func TestPlan(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		lists := [][]todo{
			{{"1", "Read", "in_progress"}, {"2", "Change", "pending"}},
			{{"1", "Read", "completed"}, {"2", "Change", "in_progress"}},
			{{"1", "Read", "completed"}, {"2", "Change", "completed"}, {"3", "Test", "pending"}},
		}
		want := []string{
			"in_progress Read\npending Change\n",
			"completed Read\nin_progress Change\n",
			"completed Read\ncompleted Change\npending Test\n",
		}
		s := startAgent(t, h).open(h)
		for form, args := range todoForms {
			var steps []modelserver.Step
			for _, list := range lists {
				steps = append(steps, modelserver.Step{Text: "On. ", Tools: []modelserver.ToolCall{{Name: "TodoWrite", Args: map[string]any{"todos": args(t, list)}}}})
			}
			model.On("plan as "+form, append(steps, modelserver.Step{Text: "Planned."})...)
			end := s.prompt("plan as " + form).end(turnLimit)
			require.Nil(t, end.Err)
			require.Equal(t, want, plansOf(t, end.Updates), form)
			require.Empty(t, end.tools(), "the calls themselves are not shown")
		}
		s.end(h)

		again := startAgent(t, h).initialize()
		from := again.seen()
		again.mustCall("session/load", h.params(s.id), nil)
		require.Equal(t, slices.Concat(want, want, want), plansOf(t, again.updatesFrom(from)))
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
