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

	"droid-acp/internal/testing/droids"
	"droid-acp/internal/testing/modelserver"
)

// checksRules reports whether droid itself can apply its lists to a command.
func (h home) checksRules() bool { return droids.CompareVersions(h.version, "0.225.2") >= 0 }

// why returns the reply to /permissions why. It asks again where the machine is too busy for droid's own check.
func (s session) why(command string) (reply string) {
	s.t.Helper()
	for range 5 {
		if reply = s.say("/permissions why " + command); !strings.Contains(reply, "droid did not say within") {
			break
		}
	}
	return reply
}

// A command that the rules allow runs without a question, in each form: according to droid's own check if it has one, otherwise to
// droid-acp's reading of the lists.
func TestPermissionsAsDroidDoes(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h.changeSettings(t, func(settings map[string]any) {
			settings["commandAllowlist"] = []any{"chmod", "mv"} // the local ones take their place
			settings["commandDenylist"] = []any{"mktemp"}
		})
		local := []byte(`{"commandAllowlist":["touch zz1","mkdir only","git tag x"]}`)
		require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".factory", "settings.local.json"), local, 0o600))
		elsewhere := filepath.Join(h.dir, "elsewhere")
		require.NoError(t, os.Mkdir(elsewhere, 0o755))
		commands := []string{
			"touch any", "FOO=1 touch env", "touch red > " + filepath.Join(elsewhere, "out"), "touch $(mv a b)", "touch a; mv a b", "mv a b", "mktemp", "touch x && mktemp", "git branch b", "cd " + elsewhere + " && touch there",
		}
		if !testing.Short() { // each check starts a droid
			commands = append(commands, "touch zz1", "touch a; touch b", "touch a && mkdir new", "touch "+filepath.Join(elsewhere, "far"), "touch a | sort", "mkdir other", "git tag other", "chmod +x zz1")
		}
		for i, command := range commands {
			model.On(fmt.Sprintf("prompt%dx", i), modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute(fmt.Sprint("c", i), command)}}, modelserver.Step{Text: "Done."})
		}
		c := startAgent(t, h).onPermission(rejectOnce)
		s := c.open(h)
		s.say("hello") // a droid runs
		for i, command := range commands {
			why := s.why(command)
			require.Equal(t, h.checksRules(), strings.HasPrefix(why, "By droid's own check: "), why)
			asked := len(c.asked())
			s.say(fmt.Sprintf("prompt%dx", i))
			ran := len(c.asked()) == asked
			t.Logf("%-60s ran %t: %s", command, ran, why)
			if !strings.Contains(why, "is not known") && ran != strings.Contains(why, "it runs without a question") {
				t.Errorf("%s: ran %t, and it says: %s", command, ran, why)
			}
		}
	})
}

// A removed permission is effective from the next prompt on, and the rest of each file is unchanged. A prompt that was sent behind a command
// which takes back nothing does not go to droid.
func TestPermissionIsTakenBack(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h.changeSettings(t, func(settings map[string]any) { settings["commandAllowlist"] = []any{"touch zz1", "mkdir only"} })
		for i := range 3 {
			model.On(fmt.Sprintf("prompt%dx", i), modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute(fmt.Sprint("c", i), fmt.Sprint("touch f", i))}}, modelserver.Step{Text: "Done."})
		}
		c := startAgent(t, h).onPermission(rejectOnce)
		s := c.open(h)
		s.say("prompt0x")
		require.Empty(t, c.asked())
		require.Contains(t, s.say("/permissions"), "- allowed: `touch zz1`, which lets **every** `touch` run")
		before := h.settings(t)
		began := time.Now()
		require.Contains(t, s.say("/permissions forget touch zz1"), "Taken back: `touch zz1`")
		t.Logf("took %v", time.Since(began))
		s.say("prompt1x")
		t.Logf("asked %d times after it", len(c.asked()))
		require.Len(t, c.asked(), 1)
		after := h.settings(t)
		require.Equal(t, []any{"mkdir only"}, after["commandAllowlist"])
		before["commandAllowlist"] = after["commandAllowlist"]
		require.Equal(t, before, after)
		require.NotContains(t, s.say("/permissions"), "touch zz1")

		settings := filepath.Join(h.dir, ".factory", "settings.json")
		text, err := os.ReadFile(settings)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(settings, text[:len(text)/2], 0o600))
		commands := map[string]string{
			"/permissions forget mkdir only": "`/permissions forget mkdir only` before it failed", "/mcp disable none": "`/mcp disable none` before it failed",
			"/model none": "droid did not take",
		}
		if os.Getenv(keepEnv) != "" {
			delete(commands, "/model none") // it fails at once, and the server may pass the prompt on behind that
		}
		for command, why := range commands {
			first, behind := s.promptBoth(command, "prompt2x")
			first.done()
			require.Contains(t, fmt.Sprint(behind.end(turnLimit).Err), why, command)
		}
		for _, r := range model.Requests() {
			require.NotContains(t, string(r.Body), "prompt2x")
		}
	})
}

// Permanent permissions of MCP servers are listed and removed; they are stored with the user's servers.
func TestMCPPermissionIsTakenBack(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		if h.version == oldDroid {
			t.Skip("it offers no such choice that is kept")
		}
		self, err := os.Executable()
		require.NoError(t, err)
		servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"tiny": map[string]any{"type": "stdio", "command": self, "args": []string{}, "env": map[string]string{mcpEnv: "hello "}}}})
		require.NoError(t, err)
		path := filepath.Join(h.dir, ".factory", "mcp.json")
		require.NoError(t, os.WriteFile(path, servers, 0o600))
		for _, word := range []string{"firstx", "secondx", "thirdx"} {
			model.On(word, modelserver.Step{Text: "I call it. ", Tools: []modelserver.ToolCall{{ID: word, Name: "tiny___echo", Args: map[string]any{"text": "x"}}}}, modelserver.Step{Text: "Done."})
		}
		c := startAgent(t, h)
		s := c.open(h)
		for option, listed := range map[string]string{"proceed_always_tools": "tiny: echo", "proceed_always_server": "tiny: all tools"} {
			c.onPermission(func(permission) string { return option })
			before := len(c.asked())
			s.say("firstx")
			require.Len(t, c.asked(), before+1, option)
			require.Contains(t, s.say("/permissions"), "- allowed, MCP: `"+listed+"`")
			s.say("secondx")
			require.Len(t, c.asked(), before+1, option)
			require.Contains(t, s.say("/permissions forget "+listed), "Taken back: `"+listed+"`")
			s.say("thirdx")
			require.Len(t, c.asked(), before+2, option)
			s.say("/permissions forget " + listed)
		}
	})
}

// What an untrusted project allows is listed with the reason why it has no effect, and its file is never written.
func TestPermissionsOfAProject(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("go", modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute("c", "touch a")}}, modelserver.Step{Text: "Done."})
		path := filepath.Join(h.work, ".factory", "settings.json")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		const text = `{"commandAllowlist":["touch x"],"commandDenylist":["mv"]}`
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		c := startAgent(t, h).onPermission(func(p permission) string {
			if o := p.Option("reject_once"); o != "cancel-prompt" {
				return o
			}
			return "not-now-go-on"
		})
		s := c.open(h)
		list := s.say("/permissions")
		for _, line := range []string{"The project's, in `" + path + "`", "- allowed: `touch x`, which lets **every** `touch` run", "- asked about: `mv`", "By droid-acp, as you have not trusted this project:\n\n- asked about: `touch x`"} {
			require.Contains(t, list, line)
		}
		why := s.why("touch a")
		t.Log(why)
		require.Contains(t, why, "droid asks before it, whatever the mode, by `touch")
		s.say("go on")
		require.Len(t, c.asked(), 2, "whether the project is trusted, and the command")
		require.Contains(t, s.why("mv a"), "droid asks before it, whatever the mode, by `mv")
		if why := s.why("ls"); h.checksRules() {
			require.Contains(t, why, "By droid's own check: it runs without a question, by `ls` (a list of droid's own). What the project brings was not read")
		}
		require.Contains(t, s.say("/permissions forget touch x"), "which is not yours alone. Remove it there.")
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(after))
	})
}

// A command that the user has allowed permanently can run a project's programs (`make test`), so it needs a question in a project of which
// something is excluded, also in a subdirectory. In others it still runs, and what the user wants to be asked about still needs a question.
func TestAllowlistAsksInProjectWithExclusions(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h.changeSettings(t, func(settings map[string]any) {
			settings["commandAllowlist"] = []any{"make test", "touch"}
			settings["commandDenylist"] = []any{"ls"}
		})
		commands := []string{"make test", "touch a", "ls"}
		for i, command := range commands {
			model.On(fmt.Sprintf("prompt%dx", i), modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute(fmt.Sprint("c", i), command)}}, modelserver.Step{Text: "Done."})
		}
		for name, want := range map[string][]bool{"plain": {false, false, true}, "left out": {true, true, true}} {
			t.Run(name, func(t *testing.T) {
				g := h
				g.work = filepath.Join(h.dir, name)
				require.NoError(t, os.MkdirAll(filepath.Join(g.work, ".git"), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(g.work, "Makefile"), []byte("test:\n\ttouch ran\n"), 0o644))
				if name == "left out" {
					require.NoError(t, os.Mkdir(filepath.Join(g.work, ".factory"), 0o755))
					require.NoError(t, os.WriteFile(filepath.Join(g.work, ".factory", "mcp.json"), []byte(`{"mcpServers":{"x":{"type":"stdio","command":"false"}}}`), 0o644))
				}
				c := startAgent(t, g)
				commandsAsked := 0
				c.onPermission(func(p permission) string {
					if strings.Contains(string(p.ToolCall), "Trust this project") {
						return p.Option("allow_once") // not now
					}
					commandsAsked++
					return rejectOnce(p)
				})
				s := c.open(g)
				for i, command := range commands {
					before := commandsAsked
					s.say(fmt.Sprintf("prompt%dx", i))
					require.Equal(t, want[i], commandsAsked > before, command)
				}
				require.Equal(t, want[0], strings.Contains(s.why("make test"), "droid asks before it, whatever the mode, by `make"))
				_, err := os.Stat(filepath.Join(g.work, "ran"))
				require.Equal(t, want[0], os.IsNotExist(err))
			})
		}
	})
}
