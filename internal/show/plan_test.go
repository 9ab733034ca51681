package show

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
)

func TestPlanEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		view plan
		raw  string
		want string
	}{
		"approved": {plan{text: "# A"}, `"{\"approved\":true,\"message\":\"Go on.\",\"filePath\":\"/p.md\"}"`, "# A|Go on.\nThe plan is saved in /p.md"},
		"0.99 repeats the plan": {plan{text: "# A\n"}, `"{\"approved\":true,\"message\":\"Saved. # A Location: /p.md\",\"filePath\":\"/p.md\"}"`,
			"Saved. # A Location: /p.md"},
		"edited": {plan{text: "# B", edited: true}, `"{\"approved\":true,\"message\":\"Edited.\",\"filePath\":\"/p.md\",\"isEdited\":true}"`,
			"# B|Edited.\nThe plan is saved in /p.md"},
		"edited long ago": {plan{text: "# A"}, `"{\"approved\":true,\"message\":\"Edited.\",\"filePath\":\"/p.md\",\"isEdited\":true}"`,
			"You edited this plan before you approved it; what was approved is in the file named below. It was proposed as:|# A|Edited.\nThe plan is saved in /p.md"},
		"of another form": {plan{text: "# A"}, `"{\"approved\":false,\"message\":\"Go on.\"}"`, "# A|" + `{"approved":false,"message":"Go on."}`},
		"refused":         {plan{text: "# A"}, `"Error: not approved"`, "# A|Error: not approved"},
		"without a plan":  {plan{}, `"Error: not approved"`, "Error: not approved"},
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
	(&plan{text: "# A"}).ended(quirks.ToolEnded{Unfinished: true}, &update)
	require.Equal(t, "# A", texts(update.Content))
}

// droid repeats the call's input after the approval (quirk 8).
func TestEditedPlanOutlivesTheInput(t *testing.T) {
	v := New(Options{})
	view := v.open("t", "ExitSpecMode")
	v.describe(view, "ExitSpecMode", json.RawMessage(`{"plan":"# A"}`))
	require.Equal(t, "# A", view.(*plan).text)
	v.PlanEdited("t", "# B")
	v.describe(view, "ExitSpecMode", json.RawMessage(`{"plan":"# A"}`))
	require.Equal(t, "# B", view.(*plan).text)
}
