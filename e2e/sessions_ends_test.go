//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

// endsEnv is how often TestEndsLoseNothing ends a droid, per version.
const endsEnv = "DROID_ACP_E2E_ENDS"

// A droid that is ended right after a turn has a complete session file, and has run the user's session-end hook. One without a login is
// then not waited for: it would wait for a cloud that does not know it.
func TestEndsLoseNothing(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello."})
		h.changeSettings(t, func(settings map[string]any) {
			hook := map[string]any{"type": "command", "command": "sleep 0.2; echo end >>" + filepath.Join(h.dir, "ends")}
			settings["hooks"] = map[string]any{"SessionEnd": []any{map[string]any{"hooks": []any{hook}}}}
		})
		rounds := 1
		if n, err := strconv.Atoi(os.Getenv(endsEnv)); err == nil {
			rounds = n
		}
		var took []time.Duration
		for round := range rounds {
			after, exit := endAfterTurn(t, h, round+1)
			took = append(took, after)
			if h.version != oldDroid {
				require.Equal(t, "SIGKILL", exit.Signal)
			}
		}
		t.Log("median of", rounds, "ends:", median(took))

		require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".factory", "auth.v2.file"), []byte("no login"), 0o600))
		_, exit := endAfterTurn(t, h, rounds+1)
		require.Empty(t, exit.Signal, "what is to be sent is waited for")
	})
}

// endAfterTurn runs a turn with a new droid, ends it, and checks what it leaves.
func endAfterTurn(t *testing.T, h home, ends int) (time.Duration, *droid.ExitError) {
	t.Helper()
	client, err := droid.Start(droid.Command{Path: h.droid, Dir: h.work, Env: h.env}, nil)
	require.NoError(t, err)
	info, err := client.Initialize(t.Context(), droid.InitializeParams{CWD: h.work})
	require.NoError(t, err)
	require.NoError(t, client.AddUserMessage(t.Context(), stream.UserMessage{Text: "hello"}))
	for ev := range client.Events() {
		state, told := ev.(stream.WorkingStateChanged)
		if _, over := ev.(stream.TurnCompleted); over || told && state.State == "idle" && h.version == oldDroid {
			break
		}
	}
	go func() {
		for range client.Events() {
		}
	}()
	began := time.Now()
	require.NoError(t, client.Close(t.Context()))
	took := time.Since(began)

	hooks, err := os.ReadFile(filepath.Join(h.dir, "ends"))
	require.NoError(t, err)
	require.Equal(t, ends, strings.Count(string(hooks), "end\n"))
	files, err := filepath.Glob(filepath.Join(h.dir, ".factory", "sessions", "*", info.SessionID+"*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		if !strings.HasSuffix(file, ".jsonl") {
			require.True(t, json.Valid(data), file)
			continue
		}
		lines := strings.Split(string(data), "\n")
		require.Empty(t, lines[len(lines)-1])
		for _, line := range lines[:len(lines)-1] {
			require.True(t, json.Valid([]byte(line)), line)
		}
		require.Contains(t, string(data), "Hello.")
		if h.version != oldDroid {
			require.Contains(t, lines[len(lines)-2], "SessionEnd")
		}
	}
	h.awaitNone(t, leavingLimit, func(process) bool { return true })
	return took, client.ExitError()
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}
