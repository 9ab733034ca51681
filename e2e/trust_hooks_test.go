//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

// Hooks given to a process run in addition to the user's own: those of the project for the same event, and those of the user's settings for
// another.
func TestHooksOfAProcess(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		log := filepath.Join(h.dir, "hooks")
		hook := func(event, word string) map[string]any {
			return map[string]any{event: []any{map[string]any{
				"matcher": "Read", "hooks": []any{map[string]any{"type": "command", "command": "echo " + word + " >> " + log}},
			}}}
		}
		h.addSettings(t, map[string]any{"hooks": hook("PostToolUse", "users")})
		project := filepath.Join(h.work, ".factory", "settings.json")
		require.NoError(t, os.MkdirAll(filepath.Dir(project), 0o755))
		text, err := json.Marshal(map[string]any{"hooks": hook("PreToolUse", "projects")})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(project, append([]byte("// ours\n"), text...), 0o644))
		file := filepath.Join(h.work, "a.txt")
		require.NoError(t, os.WriteFile(file, []byte("one\n"), 0o644))
		model.On("read", modelserver.Step{Tools: []modelserver.ToolCall{{ID: "a", Name: "Read", Args: map[string]any{"file_path": file}}}},
			modelserver.Step{Text: "done"})

		client, err := droid.Start(droid.Command{Path: h.droid, Dir: h.dir, Env: h.env, Runtime: true}, nil)
		require.NoError(t, err)
		defer func() {
			client.Kill()
			<-client.Exited()
		}()
		require.True(t, client.TakesRuntime())
		require.False(t, client.AwaitVersion(t.Context()).IsZero())
		require.NoError(t, client.SetRuntime(droid.Runtime{CWD: h.work, Hooks: []droid.Hook{
			{Event: "PreToolUse", Matcher: "Read", Command: "echo " + stream.OwnHook + " >> " + log, Timeout: 20 * time.Second},
		}}))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ev := range client.Events() {
				if state, ok := ev.(stream.WorkingStateChanged); ok && state.State == stream.StateIdle {
					return
				}
			}
		}()
		_, err = client.Initialize(t.Context(), droid.InitializeParams{MachineID: "m", CWD: h.work})
		require.NoError(t, err)
		require.NoError(t, client.AddUserMessage(t.Context(), stream.UserMessage{Text: "read"}))
		select {
		case <-ended:
		case <-time.After(turnLimit):
			t.Fatal("the turn does not end")
		}
		ran, err := os.ReadFile(log)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{stream.OwnHook, "projects", "users"}, strings.Fields(string(ran)))
	})
}

// addSettings adds to the user's settings.
func (h home) addSettings(t *testing.T, more map[string]any) {
	t.Helper()
	path := filepath.Join(h.dir, ".factory", "settings.json")
	var settings map[string]any
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &settings))
	for k, v := range more {
		settings[k] = v
	}
	data, err = json.Marshal(settings)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
}
