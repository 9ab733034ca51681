//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// A hook that fails is mentioned, one that works is not.
func TestHooks(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		path := filepath.Join(h.dir, ".factory", "settings.json")
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var settings map[string]any
		require.NoError(t, json.Unmarshal(data, &settings))
		hook := func(command string) []any {
			return []any{map[string]any{"matcher": "Execute", "hooks": []any{map[string]any{"type": "command", "command": command}}}}
		}
		settings["hooks"] = map[string]any{"PreToolUse": hook("echo all is well"), "PostToolUse": hook("echo hook says no >&2; exit 1")}
		data, err = json.Marshal(settings)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		model.On("run", modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute("a", "echo hi")}}, modelserver.Step{Text: "Ran."})
		c := startAgent(t, h)
		c.onPermission(allowOnce)
		end := c.open(h).prompt("run").end(turnLimit)
		require.Nil(t, end.Err)
		told := fmt.Sprint(end.Updates)
		require.Contains(t, told, "The PostToolUse hook")
		require.Contains(t, told, "hook says no")
		require.NotContains(t, told, "all is well")
	})
}
