//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// TestExportInABrowser opens an exported conversation with thinking, text, a
// diff, a command and an image in headless Chromium: nothing on its console, no
// request that leaves the file. It is skipped where there is no Chromium
// (Debian: apt-get install chromium).
func TestExportInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium in PATH")
	}
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		create := modelserver.ToolCall{ID: "c", Name: "Create", Args: map[string]any{
			"file_path": filepath.Join(h.work, "n.txt"), "content": "first <script>alert(1)</script>\nsecond\n"}}
		model.On("look", modelserver.Step{Thinking: "A picture. ", Text: "I **see** it. ", Tools: []modelserver.ToolCall{create}},
			modelserver.Step{Text: "Now a command. ", Tools: []modelserver.ToolCall{execute("x", "echo from the shell")}},
			modelserver.Step{Text: "Done & dusted."})
		c := startAgent(t, h)
		c.onPermission(allowOnce)
		s := c.open(h)
		require.Equal(t, "end_turn", s.send("look", imageBlock("image/png", png(t, 100))).end(turnLimit).Stop)
		require.Equal(t, "end_turn", s.prompt("/export out.html").end(turnLimit).Stop)

		page := filepath.Join(h.work, "out.html")
		netlog := filepath.Join(t.TempDir(), "net.json")
		cmd := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--log-net-log="+netlog,
			"--virtual-time-budget=3000", "--dump-dom", "file://"+page)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		cmd.WaitDelay = 5 * time.Second
		dom, err := cmd.Output()
		require.NoError(t, err, stderr.String())
		for _, part := range []string{"A picture.", "see", "second", "from the shell", "Done &amp; dusted.", "data:image/"} {
			require.Contains(t, string(dom), part)
		}
		require.NotContains(t, string(dom), "<script>alert", "what files hold stays text")
		require.NotContains(t, stderr.String(), "CONSOLE")
		require.Empty(t, requested(t, netlog))
	})
}

// requested are the addresses that a net log of Chromium has requests for, but
// for its own and the file's.
func requested(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var log struct {
		Events []struct {
			Params struct {
				URL string `json:"url"`
			} `json:"params"`
		} `json:"events"`
	}
	if json.Unmarshal(data, &log) != nil { // Chromium ends it late
		require.NoError(t, json.Unmarshal([]byte(strings.TrimRight(string(data), ",\n ")+"]}"), &log))
	}
	var out []string
	for _, e := range log.Events {
		u := e.Params.URL
		if u != "" && !strings.HasPrefix(u, "file:") && !strings.HasPrefix(u, "chrome") && !strings.HasPrefix(u, "data:") &&
			!strings.Contains(u, "google") {
			out = append(out, u)
		}
	}
	return out
}
