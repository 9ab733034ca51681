package adapter

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
)

func TestPlanEntries(t *testing.T) {
	for _, tc := range []struct {
		input string
		want  []planEntry
	}{
		{`{"todos":"1. [completed] Read\n2. [in_progress] Change [it]\n3. [pending] Test\n"}`, []planEntry{
			{"Read", "medium", "completed"}, {"Change [it]", "medium", "in_progress"}, {"Test", "medium", "pending"}}},
		{`{"todos":"- [x] a\n- [ ] b\n\n* c\n4) [done] d\nplain"}`, []planEntry{
			{"a", "medium", "completed"}, {"b", "medium", "pending"}, {"c", "medium", "pending"}, {"d", "medium", "completed"}, {"plain", "medium", "pending"}}},
		{`{"todos":[{"content":"a","status":"completed","priority":"high"},{"content":"b","status":"strange","priority":"urgent"}]}`, []planEntry{
			{"a", "high", "completed"}, {"b", "medium", "pending"}}},
		{`{"todos":"[{\"content\":\"a\",\"status\":\"completed\"},{\"content\":\"b\",\"status\":\"in_progress\"}]"}`, []planEntry{
			{"a", "medium", "completed"}, {"b", "medium", "in_progress"}}},
		{`{"todos":" []\n"}`, []planEntry{}},
		{`{"todos":"[completed] a"}`, []planEntry{{"a", "medium", "completed"}}},
		{`{"todos":"[1]"}`, []planEntry{}},
		{`{"todos":""}`, []planEntry{}},
		{`{"todos":[]}`, []planEntry{}},
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
			var p struct{ Update planUpdate }
			if json.Unmarshal(m.Params, &p) == nil && p.Update.SessionUpdate == "plan" {
				plans++
				require.Equal(t, []planEntry{{"a", "medium", "completed"}, {"b", "medium", "pending"}}, p.Update.Entries)
			}
		}
		require.Equal(t, 1, plans)
		calls := e.callUpdates()
		require.Len(t, calls, 1, "the list that was refused, and nothing of the other")
		require.Equal(t, "bad", calls[0].ToolCallID)
		require.Equal(t, "tool_call", calls[0].SessionUpdate)
		require.Equal(t, statusFailed, calls[0].Status)
	})
}
