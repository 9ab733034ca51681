package adapter

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid"
	"droid-acp/internal/show"
	"droid-acp/internal/testing/fakedroid"
)

const (
	editedPlan   = "# Do it\n\n1. later"
	editedResult = `{"approved":true,"message":"Read the updated plan.","filePath":"/specs/do-it.md","isEdited":true}`
)

// openPlan begins with a client that has forms and a droid of version v that asks
// about a plan. told is what droid was told.
func openPlan(t *testing.T, capabilities string, v fakedroid.Version, tool fakedroid.Tool) (e *editor, told *strings.Builder) {
	t.Helper()
	told = &strings.Builder{}
	e = beginNamed(t, "agent-shell", capabilities, func(int) (*droid.Client, error) {
		return tappedDroid(func(line []byte) { told.Write(line) }, uses(tool), fakedroid.WithVersion(v), fakedroid.WithMode("spec")), nil
	})
	return e, told
}

// The plan is a form; what the user leaves there is what droid and the thread
// have.
func TestEditedPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool := plan
		tool.Result = editedResult
		e, told := openPlan(t, formClient, fakedroid.V0225, tool)
		e.ask = func(p permission) string {
			last := p.Options[len(p.Options)-2:]
			require.Equal(t, "cancel", last[0].OptionID)
			require.Equal(t, show.WordsOption, last[1].OptionID)
			require.Equal(t, "allow_once", p.Options[len(p.Options)-3].Kind)
			require.Equal(t, "Edit the plan, then proceed", p.Options[len(p.Options)-3].Name)
			return show.EditOption
		}
		e.onForm = func(p protocol.ElicitationParams) string {
			require.Equal(t, e.session, p.SessionID)
			require.Equal(t, "t3", p.ToolCallID)
			require.Equal(t, "form", p.Mode)
			require.Equal(t, []string{"plan"}, p.Schema.Required)
			require.Equal(t, protocol.FormField{Type: "string", Title: "Plan", MinLength: 1, Default: "# Do it\n\n1. now"}, p.Schema.Properties["plan"])
			return fmt.Sprintf(`{"action":"accept","content":{"plan":%q}}`, editedPlan)
		}
		require.Equal(t, "end_turn", e.run("plan"))
		require.Contains(t, told.String(), `{"selectedOption":"proceed_edit","editedSpecContent":"# Do it\n\n1. later"}`)
		require.Equal(t, 1, strings.Count(told.String(), "selectedOption"))
		got := e.updates()
		require.Contains(t, got, "mode normal", "as droid reports it")
		calls := e.callUpdates()
		last := calls[len(calls)-1]
		require.Equal(t, protocol.StatusCompleted, last.Status)
		require.Equal(t, editedPlan+"|Read the updated plan.\nThe plan is saved in /specs/do-it.md", texts(last.Content))
		shown := false
		for _, c := range calls {
			shown = shown || texts(c.Content) == editedPlan
		}
		require.True(t, shown, "at once, not only when the call ends")
	})
}

// A cancelled turn takes the form back and droid is told "cancel".
func TestCancelWhileThePlanIsEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, told := openPlan(t, formClient, fakedroid.V0225, plan)
		e.ask = func(permission) string { return show.EditOption }
		id := e.prompt("plan")
		require.Contains(t, methods(e), "elicitation/create")
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
		require.Contains(t, methods(e), "$/cancel_request")
		require.Contains(t, told.String(), `"selectedOption":"cancel"`)
		require.Equal(t, 1, strings.Count(told.String(), "selectedOption"))
		asked := 0
		for _, m := range methods(e) {
			if m == "session/request_permission" {
				asked++
			}
		}
		require.Equal(t, 1, asked, "the choice does not come back")
	})
}
