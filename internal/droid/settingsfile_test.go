package droid

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// envFakeVersion is the version that fakeSettings reports before any request.
const envFakeVersion = "DROID_ACP_TEST_VERSION"

// fakeSettings reports with each session the content of its settings file.
func fakeSettings(in *bufio.Reader) int {
	path := os.Getenv(EnvSettings)
	if v := os.Getenv(envFakeVersion); v != "" {
		say(strings.Replace(notify(`{"type":"mcp_status_changed","servers":[]}`), "1.15.0", v, 1))
	}
	serve(in, func(method string) {
		if method == methodVersion {
			return
		}
		data, err := os.ReadFile(path)
		if err != nil {
			data = []byte(err.Error())
		}
		told, _ := json.Marshal(map[string]string{"type": "settings_file", "path": path, "text": string(data)})
		say(notify(string(told)))
	})
	return 0
}

// toldSettings returns the next report of fakeSettings.
func toldSettings(t *testing.T, c *Client) (path, text string) {
	t.Helper()
	ev, ok := (<-c.Events()).(stream.Unknown)
	require.True(t, ok)
	var told struct{ Path, Text string }
	require.NoError(t, json.Unmarshal(ev.Raw, &told))
	return told.Path, told.Text
}

func startTaking(t *testing.T, env ...string) *Client {
	t.Helper()
	cmd := fakeCommand("settings", env...)
	cmd.Runtime = true
	c, err := start(cmd, nil, shortBounds)
	require.NoError(t, err)
	t.Cleanup(func() { c.Kill(); <-c.Exited() })
	return c
}

func TestSetRuntime(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir) // where a file may be while the process runs
	c := startTaking(t)
	require.True(t, c.TakesRuntime())
	ctx := testContext(t)
	require.NoError(t, c.SetRuntime(Runtime{MCPServers: []stream.MCPServer{
		{Name: "tiny", Command: "tiny-mcp", Args: []string{"-v"}, Env: map[string]string{"A": "b\nc"}},
		{Name: "web", URL: "http://x/", Headers: []stream.MCPHeader{{Name: "H", Value: "1"}, {Name: "H", Value: "2"}}},
		{Name: "old", URL: "http://y/", SSE: true},
	}}))
	_, err := c.Initialize(ctx, InitializeParams{CWD: "/x"})
	require.NoError(t, err)
	path, text := toldSettings(t, c)
	env := map[string]string{"A": "b\nc"}
	if runtime.GOOS == "linux" {
		env["CHOKIDAR_USEPOLLING"], env["CHOKIDAR_INTERVAL"] = "", "" // as they were before droid got others
	}
	wanted, err := json.Marshal(env)
	require.NoError(t, err)
	require.JSONEq(t, `{"mcp":{"mcpServers":{
		"tiny":{"type":"stdio","command":"tiny-mcp","args":["-v"],"env":`+string(wanted)+`},
		"web":{"type":"http","url":"http://x/","headers":{"H":"2"}},
		"old":{"type":"sse","url":"http://y/"}}}}`, text)

	require.NoError(t, c.SetRuntime(Runtime{}))
	_, err = c.Load(ctx, LoadParams{SessionID: "s1"})
	require.NoError(t, err)
	_, text = toldSettings(t, c)
	require.JSONEq(t, `{"mcp":{"mcpServers":{}}}`, text, "shorter than before")

	require.NoError(t, c.Close(ctx))
	_, err = os.Stat(path)
	require.Error(t, err, "the file goes with the process")
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// The runtime settings of a user are kept.
func TestUsersOwnRuntimeSettings(t *testing.T) {
	c := startTaking(t, EnvSettings+"=/mine.json")
	require.False(t, c.TakesRuntime())
	require.Error(t, c.SetRuntime(Runtime{}))
	_, err := c.Initialize(testContext(t), InitializeParams{CWD: "/x"})
	require.NoError(t, err)
	path, _ := toldSettings(t, c)
	require.Equal(t, "/mine.json", path)
}

func TestNoSettingsUnlessAsked(t *testing.T) {
	c := startFake(t, shortBounds, "settings")
	require.False(t, c.TakesRuntime())
	_, err := c.Initialize(testContext(t), InitializeParams{CWD: "/x"})
	require.NoError(t, err)
	path, _ := toldSettings(t, c)
	require.Empty(t, path)
}
