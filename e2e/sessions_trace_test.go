//go:build e2e && linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fixture"
	"droid-acp/internal/testing/modelserver"
)

// TestTrace: a trace of a conversation with a permission, an edit, a cancel and a crash has what was said, and none of eight secrets, though
// a command prints the environment. It can be shown, and made into a fixture.
func TestTrace(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		file, recorded := filepath.Join(h.work, "a.txt"), filepath.Join(h.dir, "trace")
		require.NoError(t, os.WriteFile(file, []byte("in the file\n"), 0o600))
		settings := filepath.Join(h.dir, ".factory", "settings.json")
		text, err := os.ReadFile(settings)
		require.NoError(t, err)
		withKey := strings.ReplaceAll(string(text), `"none"`, `"SECRET-settings"`)
		require.NotEqual(t, string(text), withKey)
		require.NoError(t, os.WriteFile(settings, []byte(withKey), 0o600))
		model.On("edit", modelserver.Step{Text: "I look. ", Tools: []modelserver.ToolCall{execute("c", "env; cat ../.factory/settings.json")}}, modelserver.Step{Tools: []modelserver.ToolCall{toEdit(file, "in the file", "changed")}}, modelserver.Step{Text: "Edited."})
		model.On("long", modelserver.Step{Tools: []modelserver.ToolCall{execute("d", "sleep 60")}}, modelserver.Step{Text: "Late."})
		model.On("after", modelserver.Step{Text: "Again."})
		h.env = append(h.env, "MY_SERVICE_KEY=SECRET-environment-key", "FACTORY_API_KEY=fk-SECRET-factory")
		c := startAgent(t, h, "--files", "disk", "--trace", recorded).onPermission(allowOnce).initialize()
		url, _ := mcpHTTP(t)
		params := h.params("")
		servers := secretServers(t, "own", url)
		params["mcpServers"] = append(servers, map[string]any{"type": "http", "name": "far", "url": "http://SECRET-user:SECRET-password@127.0.0.1:9/?token=SECRET-parameter", "headers": []any{}})
		params["_meta"] = map[string]any{"password": "SECRET-field"}
		var opened newSession
		c.mustCall("session/new", params, &opened)
		s := session{c, opened.SessionID}
		require.Contains(t, s.say("edit Authorization: Bearer SECRET-bearer"), "Edited.")
		long := s.prompt("long")
		long.awaitUpdate("the command", func(u update) bool { return u.ToolCallID != "" && u.Status == "in_progress" })
		long.cancelled()
		h.signalDroid(t, syscall.SIGKILL)
		require.Equal(t, "Again.", strings.TrimSpace(s.say("after")))
		c.end(h)

		data, err := os.ReadFile(recorded)
		require.NoError(t, err)
		if at := strings.Index(string(data), "SECRET-"); at >= 0 {
			t.Fatalf("… %s …", data[max(0, at-300):min(len(data), at+100)])
		}
		for _, part := range []string{"MY_SERVICE_KEY=[redacted]", "apiKey", "Edited.", "in the file", `"note":"ended"`} {
			require.Contains(t, string(data), part)
		}

		show := func(args ...string) string {
			out, err := exec.Command(programs.Agent, append([]string{"trace", recorded}, args...)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			return string(out)
		}
		shown := show()
		for _, part := range []string{"= turn started, prompt ", "= permission ", "→ ", "= tool ", " session/request_permission, ", ", cancelled, reason ", "answer to session/prompt "} {
			require.Contains(t, shown, part)
		}
		show("--html", filepath.Join(h.dir, "page.html"))
		name := filepath.Join(h.dir, "made_"+h.version)
		show("--fixture", name)
		made, err := fixture.Load(name + ".txtar")
		require.NoError(t, err)
		require.Equal(t, h.protocol(t), made.Protocol)
		if keep := os.Getenv("DROID_ACP_E2E_KEEP_TRACE"); keep != "" { // a directory, to look at them
			require.NoError(t, exec.Command("cp", recorded, filepath.Join(h.dir, "page.html"), name+".txtar", keep).Run())
		}
	})
}
