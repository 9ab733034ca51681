package adapter

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/testing/fakedroid"
)

// With two tools in one request the diff of the one never stands in the entry of
// the other: the request has an entry of its own, which is closed with the answer.
func TestDiffsOfABatchStandUnderTheirOwnCalls(t *testing.T) {
	other := create
	other.ID, other.Input = "t5", fakedroid.Fields{"file_path": "/workspace/m.txt", "content": "y"}
	other.Details = fakedroid.Fields{"filePath": "/workspace/m.txt", "fileName": "m.txt", "content": "y"}
	for name, answer := range map[string]func(permission) string{"allowed": allowOnce, "refused": rejectOnce} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				e := begin(t, playing(uses(create, other), v))
				var asked []permission
				e.ask = func(p permission) string { asked = append(asked, p); return answer(p) }
				require.Equal(t, "end_turn", e.run("go"))
				require.Len(t, asked, 1)
				batch := asked[0].ToolCall
				require.EqualValues(t, "2 actions: Create n.txt; Create m.txt", batch.Title)
				require.Len(t, diffPaths(batch.Content), 2, "all is in the request")
				require.NotContains(t, []string{"t2", "t5"}, batch.ToolCallID, "clients merge the request into its call")

				last := map[string]protocol.ToolCall{}
				for _, m := range e.received() {
					var p struct{ Update protocol.ToolCall }
					if json.Unmarshal(m.Params, &p) != nil || p.Update.ToolCallID == "" {
						continue
					}
					u := p.Update
					for _, path := range diffPaths(u.Content) {
						if own := map[string]string{"t2": "/workspace/n.txt", "t5": "/workspace/m.txt"}[u.ToolCallID]; own != "" {
							require.Equal(t, own, path)
						}
					}
					last[u.ToolCallID] = merged(last[u.ToolCallID], u)
				}
				require.Equal(t, []string{"/workspace/n.txt"}, diffPaths(last["t2"].Content))
				require.Equal(t, []string{"/workspace/m.txt"}, diffPaths(last["t5"].Content))
				end := last[batch.ToolCallID]
				require.EqualValues(t, "Asked about 2 actions: Create n.txt; Create m.txt", end.Title)
				require.Equal(t, protocol.StatusCompleted, end.Status)
				require.Empty(t, diffPaths(end.Content), "shown once")
			})
		})
	}
}

func diffPaths(content []protocol.ToolContent) (paths []string) {
	for _, c := range content {
		if c.Type == "diff" {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// merged is what a client shows of a call after an update.
func merged(shown, update protocol.ToolCall) protocol.ToolCall {
	if update.Title != "" {
		shown.Title = update.Title
	}
	if update.Status != "" {
		shown.Status = update.Status
	}
	if update.Content != nil {
		shown.Content = update.Content
	}
	return shown
}

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
			require.Equal(t, "“Allow always”: kept in droid's settings.json, for all sessions.|"+
				"**Blocked by droid's sandbox:** Create wants to write to\n\n```\n/out/n.txt\n```\n\nPath is not in the allowed write list.|diff", texts(p.ToolCall.Content))
			require.EqualValues(t, "Blocked by droid's sandbox (write to /out/n.txt): Create n.txt", p.ToolCall.Title, "also where no more than the title shows")
			return "cancel"
		}
		require.Equal(t, "end_turn", e.run("go"))
		require.Contains(t, e.updates(), "tool_call_update t2 failed")
		require.Contains(t, e.updates(), "tool_call_update t2 Create n.txt", "the row has its own title again")
	})
}
