//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// signalDroid sends all droids of the home a signal.
func (h home) signalDroid(t testing.TB, s syscall.Signal) {
	t.Helper()
	for _, p := range h.processes(t) {
		if p.droid {
			require.NoError(t, syscall.Kill(p.pid, s))
		}
	}
}

// A command is answered once if droid dies during it, according to what is known of its effect, and the session continues.
func TestDroidDiesOverACommand(t *testing.T) {
	ofAdapter(t)
	const gone = "The next prompt starts droid again and continues this session."
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		made := filepath.Join(h.work, "made")
		model.On("write", modelserver.Step{Text: "I write. ", Tools: []modelserver.ToolCall{{ID: "c", Name: "Create", Args: map[string]any{"file_path": made, "content": "new"}}}},
			modelserver.Step{Text: "Made."})
		model.On("after", modelserver.Step{Text: "Still here."})
		self, err := os.Executable()
		require.NoError(t, err)
		file := fmt.Sprintf(`{"mcpServers":{"tiny":{"type":"stdio","command":%q,"args":["server-tiny"],"env":{%q:"x"}}}}`, self, mcpEnv)
		require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".factory", "mcp.json"), []byte(file), 0o600))
		s := startAgent(t, h, "--mode", "auto-high").onPermission(noAnswer).open(h)
		s.say("write it")
		require.FileExists(t, made)
		die := func() {
			h.signalDroid(t, syscall.SIGSTOP)
			time.Sleep(300 * time.Millisecond) // what is asked of it now reaches its pipe, and is not answered
			h.signalDroid(t, syscall.SIGKILL)
		}

		rewind := s.prompt("/rewind 1 files")
		rewind.await("a question", rewind.from, turnLimit, isPermission)
		h.signalDroid(t, syscall.SIGKILL)
		end := rewind.end(turnLimit)
		require.NotNil(t, end.Err)
		require.Contains(t, end.Err.Message+string(end.Err.Data), gone)
		require.FileExists(t, made)
		require.Equal(t, "Still here.", s.say("after"))
		require.Contains(t, s.text(rewind.from), "Not rewound")

		require.NoError(t, os.Remove(made))
		s = s.openSession(h) // 0.99 knows no files in one that it has loaded
		s.say("write it")
		s.onPermission(func(p permission) string {
			h.signalDroid(t, syscall.SIGSTOP)
			time.AfterFunc(300*time.Millisecond, func() { h.signalDroid(t, syscall.SIGKILL) })
			return allowOnce(p)
		})
		require.Contains(t, s.say("/rewind 1 files"), "The session goes on as it was. Whether files were restored is not known: ")
		s.onPermission(noAnswer)
		require.Equal(t, "Still here.", s.say("after"))

		for _, command := range []string{"/mcp disable tiny", "/mcp reconnect tiny", "/skills"} {
			h.signalDroid(t, syscall.SIGSTOP)
			asked := s.prompt(command)
			time.Sleep(300 * time.Millisecond) // it waits for droid
			die()
			end := asked.end(turnLimit)
			require.NotNil(t, end.Err, command)
			require.Contains(t, end.Err.Message+string(end.Err.Data), gone, command)
			require.Equal(t, "Still here.", s.say("after"))
			require.Contains(t, s.say("/mcp"), "tiny", "and it can be asked again")
		}
	})
}

// If droid or the agent is killed during a prompt with a schema, the prompt ends once, and nothing of it appears in the next one.
func TestStructuredOutputOfTheDead(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		if h.version == oldDroid {
			return // it has no such prompts
		}
		model.On("slowly", modelserver.Step{Text: `{"n": 4} ` + strings.Repeat(" ", 200), Delay: 100 * time.Millisecond})
		model.On("four", modelserver.Step{Text: `{"n": 4}`})
		model.On("plain", modelserver.Step{Text: "Plain words."})
		begin := func(s session) turn {
			from := s.seen()
			begun := turn{s, s.asksIn("slowly", counts), from}
			begun.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
			return begun
		}
		plain := func(s session) {
			raw, err := s.call("session/prompt", map[string]any{"sessionId": s.id, "prompt": []any{map[string]any{"type": "text", "text": "plain"}}})
			require.Nil(t, err)
			require.NotContains(t, string(raw), "structuredOutput")
			var result struct{ StopReason string }
			require.NoError(t, json.Unmarshal(raw, &result))
			require.Equal(t, "end_turn", result.StopReason)
		}
		s := startAgent(t, h).open(h)
		begun := begin(s)
		h.signalDroid(t, syscall.SIGKILL)
		end := begun.end(turnLimit)
		require.NotNil(t, end.Err)
		require.Contains(t, string(end.Err.Data), "The next prompt starts droid again and continues this session.")
		plain(s)

		begin(s)
		s.signal(syscall.SIGKILL)
		<-s.exited
		h.awaitNoDroid(t, leavingLimit)
		other := session{startAgent(t, h).initialize(), s.id}
		other.mustCall("session/load", h.params(s.id), nil)
		require.NotContains(t, other.text(0), "structuredOutput")
		plain(other)
		output, stop, err := other.promptIn("four", counts)
		require.Nil(t, err)
		require.Equal(t, "end_turn", stop)
		require.JSONEq(t, `{"n":4}`, output)
	})
}
