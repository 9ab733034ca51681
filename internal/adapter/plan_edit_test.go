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

func hasEdit(p permission) bool {
	for _, o := range p.Options {
		if o.OptionID == show.EditOption {
			return true
		}
	}
	return false
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

// A form that brings no new text never approves what the user did not see.
func TestEditedPlanFailsClosed(t *testing.T) {
	accept := func(text string) string { return fmt.Sprintf(`{"action":"accept","content":{"plan":%s}}`, text) }
	for name, tc := range map[string]struct {
		form  string
		then  string // what the user picks when the choice comes back
		again bool   // whether the form is offered again
		want  string
	}{
		"declined, then refused":    {`{"action":"decline"}`, "cancel", true, `"selectedOption":"cancel"`},
		"cancelled, then approved":  {`{"action":"cancel"}`, "proceed_auto_run_low", true, `"selectedOption":"proceed_auto_run_low"`},
		"cancelled, then dismissed": {`{"action":"cancel"}`, "", true, `"selectedOption":"cancel"`},
		"of the future":             {`{"action":"_later","content":{"plan":"x"}}`, "cancel", true, `"selectedOption":"cancel"`},
		"empty":                     {accept(`""`), "cancel", true, `"selectedOption":"cancel"`},
		"white space":               {accept(`" \n"`), "cancel", true, `"selectedOption":"cancel"`},
		"no text":                   {accept(`7`), "cancel", true, `"selectedOption":"cancel"`},
		"null":                      {accept(`null`), "cancel", true, `"selectedOption":"cancel"`},
		"no content":                {`{"action":"accept"}`, "cancel", true, `"selectedOption":"cancel"`},
		"malformed":                 {`"accept"`, "cancel", false, `"selectedOption":"cancel"`},
		"as it was":                 {accept(`"# Do it\n\n1. now\n"`), "never asked", false, `"selectedOption":"proceed_once"`},
		"in one line":               {accept(`"# Do it 1. now"`), "never asked", false, `"selectedOption":"proceed_once"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, told := openPlan(t, formClient, fakedroid.V0225, plan)
				asked := 0
				e.ask = func(p permission) string {
					if asked++; asked == 1 {
						return show.EditOption
					}
					require.Equal(t, tc.again, hasEdit(p))
					require.NotEqual(t, "never asked", tc.then)
					return tc.then
				}
				e.onForm = func(protocol.ElicitationParams) string { return tc.form }
				require.Equal(t, "end_turn", e.run("plan"))
				require.Contains(t, told.String(), tc.want)
				require.Equal(t, 1, strings.Count(told.String(), "selectedOption"))
				require.NotContains(t, told.String(), "editedSpecContent")
			})
		})
	}
}

// A client that answers by itself comes to an end, which is a refusal.
func TestEditedPlanEndsWithAnAutomaticClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, told := openPlan(t, formClient, fakedroid.V0225, plan)
		e.ask = func(permission) string { return show.EditOption }
		e.onForm = func(protocol.ElicitationParams) string { return `{"action":"cancel"}` }
		require.Equal(t, "end_turn", e.run("plan"))
		require.Contains(t, told.String(), `"selectedOption":"cancel"`)
	})
}

func TestEditIsOfferedWhereItWorks(t *testing.T) {
	several := plan
	several.Details = fakedroid.Fields{"plan": "A or B", "optionNames": []string{"Plan A", "Plan B"}}
	noGo := plan
	noGo.Options = []fakedroid.Fields{{"label": "Later", "value": "proceed_auto_run_low"}, {"label": "No", "value": "cancel"}}
	for name, tc := range map[string]struct {
		capabilities string
		version      fakedroid.Version
		tool         fakedroid.Tool
		want         bool
	}{
		"0.225":                     {formClient, fakedroid.V0225, plan, true},
		"0.99 opens a program":      {formClient, fakedroid.V099, plan, false},
		"no forms":                  {`{}`, fakedroid.V0225, plan, false},
		"only addresses":            {`{"elicitation":{"url":{}}}`, fakedroid.V0225, plan, false},
		"a command":                 {formClient, fakedroid.V0225, touch, false},
		"one of several":            {formClient, fakedroid.V0225, several, false},
		"droid offers no approval":  {formClient, fakedroid.V0225, noGo, false},
		"an option droid never had": {`{}`, fakedroid.V0225, noGo, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, told := openPlan(t, tc.capabilities, tc.version, tc.tool)
				first := true
				e.ask = func(p permission) string {
					if first {
						require.Equal(t, tc.want, hasEdit(p))
						first = false
						if !tc.want {
							return show.EditOption // all the same
						}
					}
					return "cancel"
				}
				require.Equal(t, "end_turn", e.run("plan"))
				require.False(t, first)
				require.Contains(t, told.String(), `"selectedOption":"cancel"`)
			})
		})
	}
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
