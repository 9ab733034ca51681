//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// commandReply returns the reply to a command.
func (s session) commandReply(command string) string {
	s.t.Helper()
	return s.prompt(command).end(turnLimit).text()
}

// A server in the user's own file is stopped, started, and restarted, in droid and in that file. A project's is refused: nothing of it is
// written to the user's file.
func TestMCPServerIsSwitched(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		self, err := os.Executable()
		require.NoError(t, err)
		file := filepath.Join(h.dir, ".factory", "mcp.json")
		server := func(name string) string {
			return fmt.Sprintf(`{"mcpServers":{%q:{"type":"stdio","command":%q,"args":[%q],"env":{%q:"x"}}}}`, name, self, "server-"+name, mcpEnv)
		}
		require.NoError(t, os.WriteFile(file, []byte(server("tiny")), 0o600))
		project := filepath.Join(h.work, ".factory", "mcp.json")
		require.NoError(t, os.MkdirAll(filepath.Dir(project), 0o755))
		require.NoError(t, os.WriteFile(project, []byte(server("theirs")), 0o644))
		runs := func(name string) (pid int) {
			for _, p := range h.processes(t) {
				if strings.Contains(p.command, "server-"+name) {
					pid = p.pid
				}
			}
			return pid
		}
		awaits := func(what string, ok func() bool) {
			require.Eventually(t, ok, turnLimit, 20*time.Millisecond, what)
		}
		disabled := func() bool {
			var f struct {
				Servers map[string]struct{ Disabled bool } `json:"mcpServers"`
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &f))
			require.Len(t, f.Servers, 1, "the project's server is not copied")
			return f.Servers["tiny"].Disabled
		}
		s := startAgent(t, h).onPermission(rejectOnce).open(h)
		awaits("it starts", func() bool { return runs("tiny") != 0 })
		require.Contains(t, s.commandReply("/mcp disable tiny"), "tiny is off")
		awaits("it is stopped", func() bool { return runs("tiny") == 0 && disabled() })
		require.Contains(t, s.commandReply("/mcp"), "tiny: disabled")
		require.Contains(t, s.commandReply("/mcp reconnect tiny"), "it is off")
		require.Contains(t, s.commandReply("/mcp enable tiny"), "tiny is on")
		awaits("it is started", func() bool { return runs("tiny") != 0 && !disabled() })
		before := runs("tiny")
		require.Contains(t, s.commandReply("/mcp reconnect tiny"), "stopped and started again")
		awaits("it is another one", func() bool { now := runs("tiny"); return now != 0 && now != before && !disabled() })
		require.Contains(t, s.commandReply("/mcp logout tiny"), "droid did not log out of the MCP server tiny: it is a program that runs on your machine, so it has no login.")
		for _, verb := range []string{"enable", "disable", "reconnect", "logout"} {
			require.Contains(t, s.commandReply("/mcp "+verb+" theirs"), "it is the project's")
		}
		require.Zero(t, runs("theirs"), "nobody has said that it may run")
		require.False(t, disabled())
	})
}

// A skill is disabled in droid, in the user's settings and in the menu, and enabled again.
func TestSkillIsSwitched(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		file := filepath.Join(h.dir, ".factory", "skills", "deploy", "SKILL.md")
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte("---\nname: deploy\ndescription: Puts it live.\n---\nDo it.\n"), 0o644))
		s := startAgent(t, h).open(h)
		require.Contains(t, s.commandReply("/skills"), "- `deploy` (personal): Puts it live.")
		if h.version == oldDroid {
			require.Contains(t, s.commandReply("/skills disable deploy"), "cannot switch skills on and off")
			return
		}
		for _, tt := range []struct{ verb, state, listed string }{{"disable", "off", "- `deploy` (personal, off)"}, {"enable", "on", "- `deploy` (personal):"}} {
			require.Contains(t, s.commandReply("/skills "+tt.verb+" deploy"), "deploy is "+tt.state+", in all your projects.")
			require.Contains(t, s.commandReply("/skills"), tt.listed)
			names, _ := h.settings(t)["disabledSkills"].([]any)
			require.Equal(t, tt.verb == "disable", len(names) == 1, "%v", names)
			require.Eventually(t, func() bool {
				text := s.text(0)
				at := strings.LastIndex(text, `"available_commands_update"`)
				return at >= 0 && strings.Contains(text[at:], `"name":"deploy"`) == (tt.verb == "enable")
			}, turnLimit, 50*time.Millisecond, "the menu has what can be typed")
		}
	})
}
