//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// Two files made at once: each diff stands under its own call, and a request for
// both (0.99; 0.225 asks one by one) has an entry of its own. And a file of the kernel's that is edited shows
// nothing of the agent's environment.
func TestTwoEditsInOneRequest(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		s := startAgent(t, h).onPermission(allowOnce).open(h)
		paths := map[string]string{"one": filepath.Join(h.work, "one.txt"), "two": filepath.Join(h.work, "two.txt")}
		create := func(id, path string) modelserver.ToolCall {
			return modelserver.ToolCall{ID: id, Name: "Create", Args: map[string]any{"file_path": path, "content": id + "\n"}}
		}
		model.On("both", modelserver.Step{Text: "I make two. ", Tools: []modelserver.ToolCall{create("one", paths["one"]), create("two", paths["two"])}},
			modelserver.Step{Text: "Made."})
		end := s.prompt("both").end(turnLimit)
		require.Nil(t, end.Err)
		for _, p := range s.asked() {
			var asked struct {
				ToolCallID string
				Content    []item
			}
			require.NoError(t, json.Unmarshal(p.ToolCall, &asked))
			if path := paths[asked.ToolCallID]; path != "" {
				require.Contains(t, diffsOf(asked.Content), path)
				require.Len(t, diffsOf(asked.Content), 1)
				continue
			}
			require.Len(t, diffsOf(asked.Content), 2)
			entry := end.ofTool(asked.ToolCallID)
			require.Equal(t, "completed", entry[len(entry)-1].Status)
		}
		require.Len(t, s.asked(), map[bool]int{true: 1, false: 2}[h.version == oldDroid])
		for id, path := range paths {
			seen := 0
			for _, u := range end.ofTool(id) {
				for shown := range diffsOf(u.items()) {
					require.Equal(t, path, shown)
					seen++
				}
			}
			require.Positive(t, seen)
		}

		model.On("environ", modelserver.Step{Text: "I edit. ", Tools: []modelserver.ToolCall{create("environ", "/proc/self/environ")}}, modelserver.Step{Text: "Edited."})
		require.Nil(t, s.prompt("environ").end(turnLimit).Err)
		for _, l := range s.lines {
			require.False(t, strings.Contains(l.raw, "HOME="+h.dir), "the environment is shown")
		}
	})
}
