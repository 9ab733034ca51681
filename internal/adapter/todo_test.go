package adapter

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/testing/fakedroid"
)

func TestPlan(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		good := fakedroid.Tool{ID: "good", Name: "TodoWrite", Input: fakedroid.Fields{"todos": "1. [completed] a\n2. [pending] b"}, Result: "TODO List Updated"}
		bad := fakedroid.Tool{ID: "bad", Name: "TodoWrite", Input: fakedroid.Fields{"todos": "1. [completed] c"}, Result: "Error: no", IsError: true}
		e := begin(t, playing(uses(good, bad), v))
		require.Equal(t, "end_turn", e.run("plan it"))
		plans := 0
		for _, m := range e.received() {
			var p struct{ Update protocol.PlanUpdate }
			if json.Unmarshal(m.Params, &p) == nil && p.Update.SessionUpdate == "plan" {
				plans++
				require.Equal(t, []protocol.PlanEntry{{Content: "a", Priority: "medium", Status: "completed"}, {Content: "b", Priority: "medium", Status: "pending"}}, p.Update.Entries)
			}
		}
		require.Equal(t, 1, plans)
		calls := e.callUpdates()
		require.Len(t, calls, 1, "the list that was refused, and nothing of the other")
		require.Equal(t, "bad", calls[0].ToolCallID)
		require.Equal(t, "tool_call", calls[0].SessionUpdate)
		require.Equal(t, protocol.StatusFailed, calls[0].Status)
	})
}

// A client that declares "plan" has its lists by plan_update alone, in the shape of the
// schema that the editor of these tests checks.
func TestPlanUpdateWhereDeclared(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		list := fakedroid.Tool{ID: "good", Name: "TodoWrite", Input: fakedroid.Fields{"todos": "1. [completed] a"}, Result: "TODO List Updated"}
		e := open(t, playing(uses(list), v))
		require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":{"plan":{}}}`).Error)
		e.beginSession()
		require.Equal(t, "end_turn", e.run("plan it"))
		require.Nil(t, e.lastUpdate("plan"))
		require.JSONEq(t, `{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"tasks","entries":[{"content":"a","priority":"medium","status":"completed"}]}}`,
			string(e.lastUpdate("plan_update")))
	})
}
