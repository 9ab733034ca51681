package droid

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/layer"
	"droid-acp/internal/droid/stream"
)

// untrusted is a layer that brings a bit of everything.
func untrusted(t *testing.T) *layer.Layer {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".factory"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	for name, text := range map[string]string{
		"mcp.json":      `{"mcpServers":{"evil":{"command":"evil"}}}`,
		"settings.json": `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./evil"}]}]},"commandAllowlist":["touch"],"autonomyMode":"auto-high"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".factory", name), []byte(text), 0o644))
	}
	l := layer.Project(dir, "/home/me")
	require.Len(t, l.Items, 4)
	return &l
}

// From its start on a process runs nothing of anybody's, and asks as it would without the
// project: 0.99 reads that only once.
func TestStartWithoutALayer(t *testing.T) {
	home := t.TempDir()
	cmd := fakeCommand("settings", "HOME="+home, "USERPROFILE="+home, envFakeVersion+"=1.220.0")
	cmd.Without, cmd.WithoutWatcher = untrusted(t), true
	c, err := start(cmd, nil, shortBounds)
	require.NoError(t, err)
	t.Cleanup(func() { c.Kill(); <-c.Exited() })
	require.True(t, c.TakesRuntime())
	require.True(t, layer.Same(cmd.Without, c.StartedWithout()))
	require.Nil(t, c.Without(), "it has no session yet")
	require.Contains(t, c.env, "GIT_CONFIG_KEY_0=core.fsmonitor")
	ctx := testContext(t)
	_, err = c.Initialize(ctx, InitializeParams{CWD: "/x"})
	require.NoError(t, err)
	<-c.Events() // the version
	_, text := toldSettings(t, c)
	require.JSONEq(t, `{"mcpPolicy":{"enabled":true,"allowlist":[]},"hooks":{"hooksDisabled":true},"commandDenylist":["touch"],
		"sessionDefaultSettings":{"autonomyLevel":"off","autonomyMode":"normal","interactionMode":"auto"},
		"autonomyLevel":"off","autonomyMode":"normal","interactionMode":"auto"}`, text)

	require.NoError(t, c.SetRuntime(Runtime{CWD: "/x", Without: cmd.Without}))
	require.Same(t, cmd.Without, c.Without())
	require.ErrorIs(t, c.SetRuntime(Runtime{CWD: "/x", Without: cmd.Without, Hooks: []Hook{{Event: "PreToolUse", Command: "x"}}}), ErrHooks, "ours are never lost silently")
	require.False(t, c.HasHooks())
}

// Where the settings of a process cannot be had, it does not start.
func TestNoStartWithALayer(t *testing.T) {
	home := t.TempDir()
	for name, env := range map[string]string{envSettings + "=/mine.json": "is set to /mine.json", "HOME=" + home: "cannot be read"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, ".factory"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(home, ".factory", "settings.json"), []byte("{"), 0o644))
		cmd := fakeCommand("settings", "HOME="+t.TempDir(), "USERPROFILE="+home, name)
		cmd.Without = untrusted(t)
		_, err := start(cmd, nil, shortBounds)
		var cannot *LeftOutError
		require.ErrorAs(t, err, &cannot)
		require.ErrorContains(t, err, env)
	}
}

// What a user has git take from the environment stays.
func TestWithoutWatcher(t *testing.T) {
	own := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=A"}
	require.Equal(t, append(own, "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false"), withoutWatcher(own))
	require.Equal(t, []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false"}, withoutWatcher(nil))
}

func TestMark(t *testing.T) {
	for want, s := range map[string]stream.MCPServer{
		"":              {Command: "é"},
		"npx":           {Command: "npx", Args: []string{"-y"}},
		"@scope/server": {Command: "npx", Args: []string{"-y", "@scope/server", "--x"}},
		"mcp.test":      {URL: "https://mcp.test:8080/long/path"},
	} {
		require.Equal(t, want, mark(s.Command, s.Args, s.URL))
	}
	list := allowlist([]stream.MCPServer{{Command: "b"}, {Command: "-"}}, map[string]json.RawMessage{"x": json.RawMessage(`{"command":"a"}`), "bad": json.RawMessage(`[]`)})
	require.Equal(t, []string{"a", "b"}, list)
	require.NotNil(t, allowlist(nil, nil))
}
