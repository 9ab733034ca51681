//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// TestReport: a report of a conversation with a permission, an edit, a cancel and a crash says how it went, and has nothing of what was said,
// read or kept secret. One with texts has the conversation.
func TestReport(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		file := filepath.Join(h.work, "a.txt")
		require.NoError(t, os.WriteFile(file, []byte("SECRET-in-file\n"), 0o600))
		model.On("SECRET-in-prompt", modelserver.Step{Tools: []modelserver.ToolCall{execute("c", "echo SECRET-in-command")}}, modelserver.Step{Tools: []modelserver.ToolCall{toEdit(file, "SECRET-in-file", "SECRET-in-edit")}}, modelserver.Step{Text: "SECRET-in-answer"})
		model.On("long", modelserver.Step{Tools: []modelserver.ToolCall{execute("d", "sleep 60")}}, modelserver.Step{Text: "Late."})
		model.On("after", modelserver.Step{Text: "Again."})
		h.env = append(h.env, "MY_SERVICE_TOKEN=SECRET-in-environment")
		c := startAgent(t, h, "--files", "disk").onPermission(allowOnce).initialize()
		url, _ := mcpHTTP(t)
		params := h.params("")
		params["mcpServers"] = secretServers(t, "own", url)
		params["_meta"] = map[string]any{"systemPrompt": map[string]any{"append": "SECRET-in-instructions"}}
		var opened newSession
		c.mustCall("session/new", params, &opened)
		s := session{c, opened.SessionID}
		require.Contains(t, s.say("SECRET-in-prompt"), "SECRET-in-answer")
		long := s.prompt("long")
		long.awaitUpdate("the command", func(u update) bool { return u.ToolCallID != "" && u.Status == "in_progress" })
		long.cancelled()
		from := c.seen()
		h.signalDroid(t, syscall.SIGKILL)

		var path string
		require.Eventually(t, func() bool {
			found, _ := filepath.Glob(filepath.Join(h.dir, ".local", "state", "droid-acp", "reports", "report-*.txt"))
			if len(found) == 1 {
				path = found[0]
			}
			return path != ""
		}, turnLimit, 20*time.Millisecond)
		require.Equal(t, "Again.", strings.TrimSpace(s.say("after")))
		require.Contains(t, c.text(from), "droid had ended and was started again; the session continues. What happened is in `"+path+"`")
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		report := string(data)
		t.Logf("\n%s", report)
		require.NotContains(t, strings.ToUpper(report), "SECRET")
		for _, part := range []string{
			"== What failed\ndroid was ended by signal \"SIGKILL\"", "- droid-acp ", "droid has ended", `editor < `, `method:"session/prompt"`, `method:"session/cancel"`, `method:"session/request_permission"`,
			`sessionUpdate:"tool_call_update"`, "droid.add_user_message", "droid.interrupt_session", "droid.request_permission", `newState:"idle"`,
		} {
			require.Contains(t, report, part)
		}

		require.Contains(t, s.say("/report b.txt"), filepath.Join(h.work, "b.txt"))
		require.Contains(t, s.say("/report with-texts c.txt"), filepath.Join(h.work, "c.txt"))
		without, err := os.ReadFile(filepath.Join(h.work, "b.txt"))
		require.NoError(t, err)
		require.NotContains(t, strings.ToUpper(string(without)), "SECRET")
		with, err := os.ReadFile(filepath.Join(h.work, "c.txt"))
		require.NoError(t, err)
		for _, text := range []string{"SECRET-in-prompt", "SECRET-in-command", "SECRET-in-edit", "SECRET-in-answer"} {
			require.Contains(t, string(with), text)
		}
		for _, text := range []string{"SECRET-in-environment", "SECRET-environment-own", "SECRET-header-own"} {
			require.NotContains(t, string(with), text)
		}
		c.end(h)
	})
}
