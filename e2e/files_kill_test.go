//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// killsEnv is how often TestKilledWhileEditing kills, per version.
const killsEnv = "DROID_ACP_E2E_KILLS"

// When the editor, the agent or droid is killed during an edit, the file has its old or its new content, and after the next start the new
// one if droid's transcript says so. No file of ours remains.
func TestKilledWhileEditing(t *testing.T) {
	kills := 4
	if n, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		kills = n
	}
	victims := []string{"agent", "droid", "editor", "agent and droid"}
	for _, version := range droidsOf() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			for i := range kills {
				seed := uint64(i)
				t.Run(fmt.Sprintf("%d %s", i, victims[i%len(victims)]), func(t *testing.T) { killedWhileEditing(t, version, victims[i%len(victims)], seed) })
			}
		})
	}
}

func killedWhileEditing(t *testing.T, version, victim string, seed uint64) {
	const edits = 25
	random := rand.New(rand.NewPCG(seed, uint64(len(version))))
	model := newModel(t)
	h := newHome(t, version, model.URL())
	path := filepath.Join(h.work, "count.txt")
	require.NoError(t, os.WriteFile(path, []byte("n 0\n"), 0o644))
	var steps []modelserver.Step
	for n := range edits {
		steps = append(steps, modelserver.Step{Tools: []modelserver.ToolCall{toEdit(path, fmt.Sprintf("n %d\n", n), fmt.Sprintf("n %d\n", n+1))}})
	}
	model.On("count", append(steps, modelserver.Step{Text: "Counted."})...)
	editor := lateEditor(t, h, time.Duration(random.IntN(200))*time.Millisecond)
	require.NoError(t, editor.Open(path))
	c := startAgent(t, h)
	s := c.openWith(h, editor)
	c.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "auto-low"}, nil)
	turn := s.prompt("count")
	turn.awaitUpdate("an edit", func(u update) bool { return u.Status == "completed" })
	time.Sleep(time.Duration(random.IntN(700)) * time.Millisecond)
	switch victim {
	case "agent":
		require.NoError(t, c.cmd.Process.Kill())
	case "droid":
		h.killDroid(t)
	case "editor":
		editor.Close()
		_ = c.stdin.Close()
		_ = c.stdout.Close()
	default:
		h.killDroid(t)
		require.NoError(t, c.cmd.Process.Kill())
	}
	if victim == "droid" {
		require.NotNil(t, turn.end(turnLimit).Err)
		_ = c.stdin.Close()
	}
	<-c.exited
	h.awaitNoDroid(t, 10*time.Second)
	countIn(t, path)
	editor.Close()

	next := startAgent(t, h, "--droid", "/nonexistent/droid") // it needs none to restore the file
	next.openWith(h, lateEditor(t, h, 0))
	n, told := countIn(t, path), h.successes(t)
	require.GreaterOrEqual(t, n, told, "droid was told of success")
	require.LessOrEqual(t, n, told+1)
	left, err := filepath.Glob(filepath.Join(h.work, ".droid-acp*")) // a killed droid 0.225 may leave a file
	require.NoError(t, err)
	require.Empty(t, left)
	_ = next.stdin.Close()
	<-next.exited
	require.NoDirExists(t, filepath.Join(h.dir, ".local", "state", "droid-acp", "edits"))
}

// countIn returns the number in a complete file.
func countIn(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var n int
	_, err = fmt.Sscanf(string(data), "n %d\n", &n)
	require.NoError(t, err, "%q", data)
	require.Equal(t, fmt.Sprintf("n %d\n", n), string(data))
	return n
}

// successes returns the number of successful edits in droid's session files.
func (h home) successes(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(filepath.Join(h.dir, ".factory", "sessions"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, line := range strings.Split(string(data), "\n") {
			var entry struct {
				Message struct {
					Content []struct {
						Type    string `json:"type"`
						IsError bool   `json:"is_error"`
					} `json:"content"`
				} `json:"message"`
			}
			_ = json.Unmarshal([]byte(line), &entry) // other lines have no results
			for _, b := range entry.Message.Content {
				if b.Type == "tool_result" && !b.IsError {
					n++
				}
			}
		}
		return err
	}))
	return n
}
