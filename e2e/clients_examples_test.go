//go:build e2e && linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// TestClientExamples runs the examples of docs/programs.md: its code block, and the program that it links to.
func TestClientExamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, program := filepath.Join(dir, "hello.mjs"), filepath.Join(dir, "hello")
	page, err := os.ReadFile("../docs/programs.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)\n```js\n(.*?)\n```\n").FindAllSubmatch(page, -1)
	require.Len(t, blocks, 1)
	require.NoError(t, os.WriteFile(script, append(blocks[0][1], '\n'), 0o644))
	require.NoError(t, os.Symlink(filepath.Join(programs.Clients, "node_modules"), filepath.Join(dir, "node_modules")))
	require.NoError(t, command("..", "go", "build", "-o", program, "./e2e/testdata/clients/hello"))
	for name, args := range map[string][]string{"TypeScript": {programs.Node, script}, "Go": {program}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := newModel(t)
			model.On("touch", modelserver.Step{Text: "I touch it. ", Tools: []modelserver.ToolCall{execute("a", "touch made")}})
			h := newHome(t, newDroid, model.URL())
			path := t.TempDir()
			require.NoError(t, os.Symlink(programs.Agent, filepath.Join(path, "droid-acp")))
			require.NoError(t, os.Symlink(h.droid, filepath.Join(path, "droid")))

			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, args[0], append(args[1:], "touch it")...)
			cmd.Dir, cmd.Env, cmd.WaitDelay = h.work, append(h.env, "PATH="+path+":"+os.Getenv("PATH")), 10*time.Second
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			t.Logf("%s", out)
			require.Contains(t, string(out), "I touch it.")
			require.Contains(t, string(out), "[refused: touch made]")
			require.Contains(t, string(out), "[end_turn]")
			require.NoFileExists(t, filepath.Join(h.work, "made"))
			h.awaitNoDroid(t, leavingLimit)
		})
	}
}
