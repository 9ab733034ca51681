package adapter

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/show"
	"droid-acp/internal/testing/fakedroid"
)

const formClient = `{"elicitation":{"form":{}}}`

// A cancelled turn takes the form back and droid is told "cancel".
func TestCancelWhileThePlanIsEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &strings.Builder{}
		e := beginNamed(t, "agent-shell", formClient, func(int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) { told.Write(line) }, uses(plan), fakedroid.WithVersion(fakedroid.V0225), fakedroid.WithMode("spec")), nil
		})
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

func methods(e *editor) []string {
	var out []string
	for _, m := range e.received() {
		out = append(out, m.Method)
	}
	return out
}
