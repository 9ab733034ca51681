package render

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
)

func TestPlanEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		view planView
		raw  string
		want string
	}{
		"approved": {planView{text: "# A"}, `"{\"approved\":true,\"message\":\"Go on.\",\"filePath\":\"/p.md\"}"`, "# A|Go on.\nThe plan is saved in /p.md"},
		"0.99 repeats the plan": {planView{text: "# A\n"}, `"{\"approved\":true,\"message\":\"Saved. # A Location: /p.md\",\"filePath\":\"/p.md\"}"`,
			"Saved. # A Location: /p.md"},
		"edited": {planView{text: "# B", edited: true}, `"{\"approved\":true,\"message\":\"Edited.\",\"filePath\":\"/p.md\",\"isEdited\":true}"`,
			"# B|Edited.\nThe plan is saved in /p.md"},
		"edited long ago": {planView{text: "# A"}, `"{\"approved\":true,\"message\":\"Edited.\",\"filePath\":\"/p.md\",\"isEdited\":true}"`,
			"You edited this plan before you approved it; what was approved is in the file named below. It was proposed as:|# A|Edited.\nThe plan is saved in /p.md"},
		"of another form": {planView{text: "# A"}, `"{\"approved\":false,\"message\":\"Go on.\"}"`, "# A|" + `{"approved":false,"message":"Go on."}`},
		"refused":         {planView{text: "# A"}, `"Error: not approved"`, "# A|Error: not approved"},
		"without a plan":  {planView{}, `"Error: not approved"`, "Error: not approved"},
	} {
		t.Run(name, func(t *testing.T) {
			var update protocol.ToolCall
			tc.view.shownCall = &shownCall{v: New(Options{})}
			tc.view.ended(quirks.ToolEnded{Content: json.RawMessage(tc.raw)}, &update)
			require.Equal(t, tc.want, texts(update.Content))
		})
	}
}

// An unfinished plan can still be read: the input of its call does not have it.
func TestUnfinishedPlan(t *testing.T) {
	var update protocol.ToolCall
	(&planView{text: "# A"}).ended(quirks.ToolEnded{Unfinished: true}, &update)
	require.Equal(t, "# A", texts(update.Content))
}

// droid repeats the call's input after the approval (quirk 8).
func TestEditedPlanOutlivesTheInput(t *testing.T) {
	v := New(Options{})
	view := v.open("t", "ExitSpecMode")
	v.describe(view, "ExitSpecMode", json.RawMessage(`{"plan":"# A"}`))
	require.Equal(t, "# A", view.(*planView).text)
	v.PlanEdited("t", "# B")
	v.describe(view, "ExitSpecMode", json.RawMessage(`{"plan":"# A"}`))
	require.Equal(t, "# B", view.(*planView).text)
}
