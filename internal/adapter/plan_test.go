package adapter

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
	"droid-acp/internal/protocol"
)

func TestPlanEntries(t *testing.T) {
	for _, tc := range []struct {
		input string
		want  []protocol.PlanEntry
	}{
		{`{"todos":"1. [completed] Read\n2. [in_progress] Change [it]\n3. [pending] Test\n"}`, []protocol.PlanEntry{
			{Content: "Read", Priority: "medium", Status: "completed"}, {Content: "Change [it]", Priority: "medium", Status: "in_progress"}, {Content: "Test", Priority: "medium", Status: "pending"}}},
		{`{"todos":"- [x] a\n- [ ] b\n\n* c\n4) [done] d\nplain"}`, []protocol.PlanEntry{
			{Content: "a", Priority: "medium", Status: "completed"}, {Content: "b", Priority: "medium", Status: "pending"}, {Content: "c", Priority: "medium", Status: "pending"}, {Content: "d", Priority: "medium", Status: "completed"}, {Content: "plain", Priority: "medium", Status: "pending"}}},
		{`{"todos":[{"content":"a","status":"completed","priority":"high"},{"content":"b","status":"strange","priority":"urgent"}]}`, []protocol.PlanEntry{
			{Content: "a", Priority: "high", Status: "completed"}, {Content: "b", Priority: "medium", Status: "pending"}}},
		{`{"todos":"[{\"content\":\"a\",\"status\":\"completed\"},{\"content\":\"b\",\"status\":\"in_progress\"}]"}`, []protocol.PlanEntry{
			{Content: "a", Priority: "medium", Status: "completed"}, {Content: "b", Priority: "medium", Status: "in_progress"}}},
		{`{"todos":" []\n"}`, []protocol.PlanEntry{}},
		{`{"todos":"[completed] a"}`, []protocol.PlanEntry{{Content: "a", Priority: "medium", Status: "completed"}}},
		{`{"todos":"[1]"}`, []protocol.PlanEntry{}},
		{`{"todos":""}`, []protocol.PlanEntry{}},
		{`{"todos":[]}`, []protocol.PlanEntry{}},
		{`{"todos":null}`, nil},
		{`{"todos":7}`, nil},
		{`{}`, nil},
		{`"x"`, nil},
	} {
		got, ok := planEntries(json.RawMessage(tc.input))
		require.Equal(t, tc.want, got, tc.input)
		require.Equal(t, tc.want != nil, ok, tc.input)
	}
}

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
