package render

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
)

// plansOf returns the plans among the shown updates, as they are sent.
func plansOf(t *testing.T, out []Output) (plans []string) {
	t.Helper()
	for _, o := range out {
		switch o.(type) {
		case protocol.PlanUpdate, protocol.NamedPlanUpdate:
			raw, err := json.Marshal(o)
			require.NoError(t, err)
			plans = append(plans, string(raw))
		}
	}
	return plans
}

// A client that declares "plan" is sent plan_update and no plan: the list of tasks, and
// the plan that was approved, which the call then does not repeat. Others are sent plan,
// and an approved plan stays in its call.
func TestNamedPlans(t *testing.T) {
	tasks := quirks.ToolStarted{ID: "a", Name: "TodoWrite", Input: json.RawMessage(`{"todos":"1. [completed] Read"}`)}
	spec := quirks.ToolStarted{ID: "b", Name: "ExitSpecMode", Input: json.RawMessage(`{"plan":"# Do it"}`)}
	const approved = `{"approved":true,"message":"Go on.","filePath":"/p.md"}`
	for _, tc := range []struct {
		client protocol.ClientCapabilities
		plans  []string
		call   string
	}{
		{protocol.ClientCapabilities{Plans: true}, []string{
			`{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"tasks","entries":[{"content":"Read","priority":"medium","status":"completed"}]}}`,
			`{"sessionUpdate":"plan_update","plan":{"type":"markdown","planId":"approved","content":"# Do it"}}`,
		}, "Go on.\nThe plan is saved in /p.md"},
		{protocol.ClientCapabilities{}, []string{
			`{"sessionUpdate":"plan","entries":[{"content":"Read","priority":"medium","status":"completed"}]}`,
		}, "# Do it|Go on.\nThe plan is saved in /p.md"},
	} {
		d := newHarness(tc.client)
		d.Event(d.moment(), tasks, nil)
		out := d.Event(d.moment(), ended("a", "TodoWrite", "TODO List Updated"), nil)
		d.Event(d.moment(), spec, nil)
		out = append(out, d.Event(d.moment(), ended("b", "ExitSpecMode", approved), nil)...)
		require.Equal(t, tc.plans, plansOf(t, out))
		require.Equal(t, tc.call, texts(out[len(out)-1].(protocol.ToolCall).Content))

		d.Event(d.moment(), quirks.ToolStarted{ID: "c", Name: "ExitSpecMode", Input: spec.Input}, nil)
		refused := d.Event(d.moment(), ended("c", "ExitSpecMode", "Error: not approved"), nil)
		require.Empty(t, plansOf(t, refused), "what was not approved stays in its call")
	}
}
