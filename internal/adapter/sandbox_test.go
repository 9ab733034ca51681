package adapter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
)

// What the sandbox holds back is said, though there is a diff to show as well.
func TestSandboxViolationOfAnEdit(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		blocked := create
		blocked.Confirmation = "sandbox_violation"
		blocked.Details = fakedroid.Fields{"violatingToolName": "Create", "target": "/out/n.txt", "operationType": "write",
			"violationType": "filesystem-write", "reason": "Path is not in the allowed write list", "isOrgDeny": false}
		blocked.Options = []fakedroid.Fields{{"label": "Allow once", "value": "proceed_once"},
			{"label": "Allow always (writes to /out)", "value": "proceed_always"}, {"label": "Deny", "value": "cancel"}}
		e := begin(t, playing(uses(blocked), v))
		e.ask = func(p permission) string {
			require.Equal(t, "**Blocked by droid's sandbox:** Create wants to write to\n\n```\n/out/n.txt\n```\n\nPath is not in the allowed write list.|diff|"+
				"“Allow always”: kept in droid's settings.json, for all sessions.", texts(p.ToolCall.Content))
			require.EqualValues(t, "Blocked by droid's sandbox (write to /out/n.txt): Create n.txt", p.ToolCall.Title, "also where no more than the title shows")
			return "cancel"
		}
		require.Equal(t, "end_turn", e.run("go"))
		require.Contains(t, e.updates(), "tool_call_update t2 failed")
		require.Contains(t, e.updates(), "tool_call_update t2 Create n.txt", "the row has its own title again")
	})
}
