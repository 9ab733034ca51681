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

	"droid-acp/internal/testing/modelserver"
)

// TestOptionsBeforeASession: session/options tells what session/new will, whatever the settings are, in a project that nobody trusts, twice
// at once and again; no session is stored and no MCP server runs for that. A model that is chosen with session/new answers the first prompt.
func TestOptionsBeforeASession(t *testing.T) {
	ofAdapter(t)
	notKept(t, "another window may have started what is looked for here")
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hi."})
		h.addModel(t, "second-model", "Second")
		h.env = append(h.env, "DROID_ACP_SPARE=none")
		server := func(name string) (config map[string]any, ran string) {
			ran = filepath.Join(h.dir, name)
			run := map[string]any{"type": "stdio", "command": "sh", "args": []string{"-c", "echo > " + ran + "; cat"}}
			return map[string]any{"mcpServers": map[string]any{name: run}}, ran
		}
		own, ranOwn := server("own")
		theirs, ranTheirs := server("theirs")
		writeJSON(t, filepath.Join(h.dir, ".factory", "mcp.json"), own)
		writeJSON(t, filepath.Join(h.work, ".factory", "mcp.json"), theirs)
		c := startAgent(t, h).initialize()
		sessions := func() []string {
			found, err := filepath.Glob(filepath.Join(h.dir, ".factory", "sessions", "*", "*"))
			require.NoError(t, err)
			return found
		}
		params := map[string]any{"cwd": h.work, "sessionId": nil, "additionalDirectories": []any{}}
		var list optionList
		c.mustCall("session/options", params, &list)
		require.Empty(t, sessions())
		require.NoFileExists(t, ranOwn)
		second := ""
		for _, id := range list.values("model") {
			if strings.Contains(id, "Second") {
				second = id
			}
		}
		require.NotEmpty(t, second)

		type result struct{ Modes, ConfigOptions json.RawMessage }
		for _, project := range []map[string]any{
			{},
			{"model": second, "reasoningEffort": "low"},
			{"autonomyMode": "auto-high", "sessionDefaultSettings": map[string]any{"autonomyLevel": "high"}},
		} {
			writeJSON(t, filepath.Join(h.work, ".factory", "settings.json"), project)
			before, began := sessions(), time.Now()
			ids := []int{c.request("session/options", params), c.request("session/options", params)}
			var got [3]result
			for i, id := range ids {
				_, l := c.response(id, turnLimit)
				require.Nil(t, l.Error, project)
				require.NoError(t, json.Unmarshal(l.Result, &got[i]))
			}
			cold := time.Since(began)
			began = time.Now()
			c.mustCall("session/options", params, &got[2])
			t.Logf("%v: cold %v, warm %v", project, cold, time.Since(began))
			require.Equal(t, before, sessions(), project)
			var opened result
			c.mustCall("session/new", h.params(""), &opened)
			for _, r := range got {
				require.JSONEq(t, string(opened.ConfigOptions), string(r.ConfigOptions), project)
				require.JSONEq(t, string(opened.Modes), string(r.Modes), project)
			}
		}
		require.NoFileExists(t, ranTheirs)
		require.Eventually(t, func() bool { _, err := os.Stat(ranOwn); return err == nil }, turnLimit, 50*time.Millisecond, "it runs for a session")

		require.NoError(t, os.RemoveAll(filepath.Join(h.work, ".factory"))) // a prompt would ask about it
		params = h.params("")
		params["configOptions"] = []any{map[string]any{"configId": "model", "value": second}, map[string]any{"configId": "speed", "value": "fast"}}
		var opened struct {
			newSession
			optionList
		}
		c.mustCall("session/new", params, &opened)
		require.Equal(t, second, opened.current("model"))
		require.Contains(t, session{c, opened.SessionID}.prompt("hello").end(turnLimit).text(), "Hi.")
		require.Equal(t, "second-model", modelOf(lastRequest(model)))
		c.end(h)
	})
}

func writeJSON(t *testing.T, path string, value any) {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o600))
}
