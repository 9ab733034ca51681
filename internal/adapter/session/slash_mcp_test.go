package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// switches is a droid that reports which switches were requested.
type switches struct {
	mu     sync.Mutex
	asked  []string
	refuse string // the call that it refuses
}

func (s *switches) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.asked, "; ")
	s.asked = nil
	return all
}

func (s *switches) option(method string) fakedroid.Option {
	return fakedroid.WithAnswer("droid."+method, func(params map[string]any) (any, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		text, _ := json.Marshal(params)
		call := method + " " + string(text)
		s.asked = append(s.asked, call)
		if s.refuse != "" && strings.Contains(call, s.refuse) {
			return nil, "not now"
		}
		return fakedroid.Fields{"success": true}, ""
	})
}

func answering(method string, result any) fakedroid.Option {
	return fakedroid.WithAnswer("droid."+method, func(map[string]any) (any, string) { return result, "" })
}

func inBubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// TestMCPServerIsChanged: only a server of the user's own file is switched, and each other is refused with the reason, before
// droid is asked.
func TestMCPServerIsChanged(t *testing.T) {
	server := func(name, status, source string) fakedroid.Fields {
		return fakedroid.Fields{"name": name, "status": status, "source": source}
	}
	for _, v := range []fakedroid.Version{fakedroid.V099, fakedroid.V0225} {
		t.Run(string(v), inBubble(func(t *testing.T) {
			d := new(switches)
			r := inProject(t, v, map[string]string{
				"~/.factory/mcp.json": `{"mcpServers":{"mine":{"command":"a"},"off":{"command":"a","disabled":true},"both":{"command":"a"},"plugged":{"command":"a"}}}`,
				".factory/mcp.json":   `{"mcpServers":{"theirs":{"command":"b"},"both":{"command":"b"}}}`,
			}, d.option("toggle_mcp_server"), d.option("clear_mcp_auth"), answering("list_mcp_servers", fakedroid.Fields{"servers": []any{
				server("mine", "connected", "user"), server("off", "disabled", "user"), server("both", "disabled", "user"),
				server("theirs", "disabled", "project"), server("plugged", "connected", "plugin"),
			}}))
			r.ask = rejectOnce
			require.Nil(t, r.newSession().Error)
			for _, tt := range []struct{ command, says, asks string }{
				{"/mcp disable mine", "mine is off, in all your projects.", `toggle_mcp_server {"enabled":false,"serverName":"mine","settingsLevel":"user"}`},
				{"/mcp disable\t mine", "mine is off, in all your projects.", `toggle_mcp_server {"enabled":false,"serverName":"mine","settingsLevel":"user"}`},
				{"/mcp enable off", "off is on, in all your projects", `toggle_mcp_server {"enabled":true,"serverName":"off","settingsLevel":"user"}`},
				{"/mcp reconnect mine", "mine was stopped and started again", `toggle_mcp_server {"enabled":false,"serverName":"mine","settingsLevel":"user"}; toggle_mcp_server {"enabled":true,"serverName":"mine","settingsLevel":"user"}`},
				{"/mcp logout mine", "droid has forgotten the login to mine.", `clear_mcp_auth {"serverName":"mine"}`},
				{"/mcp reconnect off", "it is off; `/mcp enable off` starts it", ""},
				{"/mcp enable theirs", "it is the project's (a change would be copied into your own file", ""},
				{"/mcp disable both", "it is the project's", ""},
				{"/mcp enable none", "mcp.json, does not name it", ""},
				{"/mcp enable plugged", "droid has it from another file than your own (plugin)", ""},
				{"/mcp remove mine", "`/mcp` does not understand “remove mine”", ""},
			} {
				before := len(r.updates())
				require.Equal(t, "end_turn", r.run(tt.command), tt.command)
				require.Contains(t, strings.Join(r.updates()[max(0, before-1):], "\n"), tt.says, tt.command)
				require.Equal(t, tt.asks, d.seen(), tt.command)
			}
			d.refuse = `"enabled":true`
			require.Equal(t, "end_turn", r.run("/mcp reconnect mine"))
			require.Contains(t, strings.Join(r.updates(), "\n"), "did not reconnect the MCP server mine: it was stopped and not started again: not now. ")
			r.write(t, "~/.factory/mcp.json", "{")
			d.seen()
			require.Equal(t, "end_turn", r.run("/mcp disable mine"))
			require.Empty(t, d.seen(), "what cannot be read is not known to be the user's")
		}))
	}
}

// A prompt that was sent behind a command which was to take a server or a skill from droid does not go to droid if the command fails.
func TestPromptBehindACommandThatTakesNothing(t *testing.T) {
	for command, goes := range map[string]bool{"/mcp disable mine": false, "/mcp logout mine": false, "/skills\tdisable deploy": false, "/mcp enable mine": true} {
		for _, dies := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				refused := func(map[string]any) (any, string) {
					return fakedroid.Later{After: time.Second, Then: func(map[string]any) (any, string) { return nil, "not now" }}, ""
				}
				r := inProject(t, fakedroid.V0225, map[string]string{"~/.factory/mcp.json": `{"mcpServers":{"mine":{"command":"a"}}}`},
					fakedroid.WithAnswer("droid.list_mcp_servers", refused), fakedroid.WithAnswer("droid.list_skills", refused))
				require.Nil(t, r.newSession().Error)
				first, behind := r.prompt(command), r.prompt("hello")
				r.settle()
				if dies {
					r.die()
				}
				require.Equal(t, !dies, ended(r.await(first)) == "end_turn")
				if goes {
					require.Equal(t, "end_turn", ended(r.await(behind)))
					return
				}
				require.Contains(t, ended(r.await(behind)), "The prompt was not sent, because `"+strings.ReplaceAll(command, "\t", " ")+"` before it failed: dr")
			})
		}
	}
}

// TestMCPLogoutWithoutALogin: only a server over HTTP has a login. For any other, droid refuses the logout in terms of its protocol.
func TestMCPLogoutWithoutALogin(t *testing.T) {
	for kind, says := range map[string]string{
		"stdio":     "droid did not log out of the MCP server mine: it is a program that runs on your machine, so it has no login.",
		"http":      "droid did not log out of the MCP server mine: MCP server not found",
		"not known": "droid did not log out of the MCP server mine: MCP server not found",
	} {
		synctest.Test(t, func(t *testing.T) {
			server := fakedroid.Fields{"name": "mine", "status": "connected", "source": "user"}
			if kind != "not known" {
				server["serverType"] = kind
			}
			asked := 0
			r := inProject(t, fakedroid.V0225, map[string]string{"~/.factory/mcp.json": `{"mcpServers":{"mine":{"command":"a"}}}`},
				answering("list_mcp_servers", fakedroid.Fields{"servers": []any{server}}),
				fakedroid.WithAnswer("droid.clear_mcp_auth", func(map[string]any) (any, string) { asked++; return nil, "MCP server not found" }))
			require.Nil(t, r.newSession().Error)
			require.Equal(t, "end_turn", r.run("/mcp logout mine"))
			require.Contains(t, strings.Join(r.updates(), "\n"), says)
			require.Equal(t, kind != "stdio", asked == 1)
		})
	}
}

// TestMCPServerOfAnUnclearProject checks that no server is switched if the project's servers cannot be determined.
func TestMCPServerOfAnUnclearProject(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"plugin":  {".factory/settings.json": `{"enabledPlugins":{"x":true}}`},
		"strange": {".factory/servers.d": "x"},
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			d := new(switches)
			files["~/.factory/mcp.json"] = `{"mcpServers":{"mine":{"command":"a"}}}`
			r := inProject(t, fakedroid.V0225, files, d.option("toggle_mcp_server"))
			r.ask = rejectOnce
			require.Nil(t, r.newSession().Error)
			require.Equal(t, "end_turn", r.run("/mcp disable mine"))
			require.Contains(t, strings.Join(r.updates(), "\n"), "nobody can tell whether they name such a server")
			require.Empty(t, d.seen())
		}))
	}
}

// TestMCPServerOfTheEditor: the editor's is the editor's.
func TestMCPServerOfTheEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(switches)
		r := inProject(t, fakedroid.V0225, nil, d.option("toggle_mcp_server"))
		r.session = r.sessionOf(r.call("session/new", `{"cwd":`+quoted(r.dir)+`,"mcpServers":[{"name":"tiny","command":"/bin/cat","args":[],"env":[]}]}`))
		require.Contains(t, r.answerTo("/mcp disable tiny"), "tiny comes from your editor; change it there.")
		require.Empty(t, d.seen())
	})
}

// TestSkills lists them and switches one that is there.
func TestSkills(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		d := new(switches)
		e := begin(t, playing(says("hi"), v, d.option("set_skill_disabled"), answering("list_skills", fakedroid.Fields{"skills": []any{
			fakedroid.Fields{"name": "deploy", "description": "Puts it live. Use when asked.", "location": "personal", "enabled": true},
			fakedroid.Fields{"name": "old\u001b[2J", "description": "", "location": "project", "enabled": false},
		}})))
		told := func(command string) string {
			before := len(e.updates())
			require.Equal(t, "end_turn", e.run(command))
			return strings.Join(e.updates()[max(0, before-1):], "\n")
		}
		require.Contains(t, told("/skills"), "- `deploy` (personal): Puts it live.\n- `old\\x1b[2J` (project, off): ")
		require.Contains(t, told("/skills now"), "does not understand")
		if strings.HasSuffix(t.Name(), string(fakedroid.V099)) {
			require.Contains(t, told("/skills disable deploy"), "cannot switch skills on and off; droid 0.215 and newer can")
			require.Empty(t, d.seen())
			return
		}
		require.Contains(t, told("/skills disable deploy"), "deploy is off, in all your projects.")
		require.Equal(t, `set_skill_disabled {"disabled":true,"settingsLevel":"user","skillName":"deploy"}`, d.seen())
		require.Contains(t, told("/skills enable deploy"), "deploy is on, in all your projects.")
		require.Equal(t, `set_skill_disabled {"disabled":false,"settingsLevel":"user","skillName":"deploy"}`, d.seen())
		require.Contains(t, told("/skills disable none"), "it has none of this name; `/skills` lists them")
		require.Empty(t, d.seen())
		d.refuse = "deploy"
		require.Contains(t, told("/skills disable deploy"), "droid did not disable the skill deploy: ")
	})
}

// TestCancelledMCPReconnect: a cancel while droid lists its servers ends the command, and no server is switched. A server that was already
// stopped is started again, and the user is notified.
func TestCancelledMCPReconnect(t *testing.T) {
	for _, listing := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := new(switches)
			slow := func(method string, result fakedroid.Fields) fakedroid.Option {
				return fakedroid.WithAnswer("droid."+method, func(params map[string]any) (any, string) {
					if params["enabled"] != nil {
						d.mu.Lock()
						defer d.mu.Unlock()
						d.asked = append(d.asked, fmt.Sprint(params["enabled"]))
					}
					return fakedroid.Later{After: time.Second, Then: func(map[string]any) (any, string) { return result, "" }}, ""
				})
			}
			r := inProject(t, fakedroid.V0225, map[string]string{"~/.factory/mcp.json": `{"mcpServers":{"mine":{"command":"a"}}}`},
				slow("toggle_mcp_server", fakedroid.Fields{"success": true}),
				slow("list_mcp_servers", fakedroid.Fields{"servers": []any{fakedroid.Fields{"name": "mine", "status": "connected", "source": "user"}}}))
			require.Nil(t, r.newSession().Error)
			reconnect := r.prompt("/mcp reconnect mine")
			time.Sleep(500 * time.Millisecond)
			if listing {
				r.cancel()
				require.Equal(t, "cancelled", ended(r.await(reconnect)))
				time.Sleep(10 * time.Second)
				require.Empty(t, d.seen())
				return
			}
			time.Sleep(time.Second)
			r.cancel()
			require.Equal(t, "cancelled", ended(r.await(reconnect)))
			require.Equal(t, "false; true", d.seen())
			require.Contains(t, strings.Join(r.updates(), "\n"), "mine was stopped and started again")
		})
	}
}
