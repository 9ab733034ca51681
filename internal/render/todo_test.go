package render

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
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
		got, ok := ParseTasks(json.RawMessage(tc.input))
		require.Equal(t, tc.want, got, tc.input)
		require.Equal(t, tc.want != nil, ok, tc.input)
	}
}
