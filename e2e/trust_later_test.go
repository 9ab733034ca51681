//go:build e2e && linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// later is a project that changes while droid works in it.
type later struct {
	hostile
	trap    *traps
	model   *modelserver.Server
	canary  string // fired by a project's model
	appears []byte // the settings that appear
}

func newLater(t *testing.T, h home, model *modelserver.Server) *later {
	t.Helper()
	l := &later{hostile: hostile{root: h.work, marks: filepath.Join(h.dir, "marks")}, trap: newTraps(t), model: model}
	require.NoError(t, os.Mkdir(l.marks, 0o755))
	require.NoError(t, exec.Command("git", "init", "-q", l.root).Run())
	require.NoError(t, os.MkdirAll(filepath.Join(l.root, ".factory", "skills"), 0o755)) // droid watches a directory that is there
	g, p := &grower{trap: l.trap.url}, treePart{}
	settings := object("commandAllowlist", list(jsonText("touch")), "customModels", g.model(&p, false))
	l.canary, l.appears = p.canaries[0], []byte(settings.String())
	model.On("use", modelserver.Step{Tools: []modelserver.ToolCall{execute("c", "touch "+filepath.Join(l.marks, "allowed"))}}, modelserver.Step{Text: "Used."})
	return l
}

func (l *later) settingsFile() string { return filepath.Join(l.root, ".factory", "settings.json") }

// pull makes the settings appear, and waits for droid to notice them if it watches.
func (l *later) pull(t *testing.T) {
	t.Helper()
	require.NoError(t, os.WriteFile(l.settingsFile(), l.appears, 0o644))
	time.Sleep(2 * time.Second)
}

// nothing checks that nothing has fired.
func (l *later) nothing(t *testing.T, h home, when string) {
	t.Helper()
	require.Empty(t, l.trap.fired(t, h), when)
}

// Files that a pull or a checkout brings while droid runs have no effect, whatever was answered before.
func TestProjectChangesWhileDroidRuns(t *testing.T) {
	for name, args := range map[string][]string{"nothing there": nil, "not now": nil, "never": {"--trust", "never"}} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				l := newLater(t, h, model)
				if name == "not now" {
					l.write(t, filepath.Join(l.root, ".factory", "mcp.json"), map[string]any{"mcpServers": map[string]any{"a": l.server("mcp")}})
				}
				c := startAgent(t, h, args...).initialize().onPermission(trusts(goOnWithout))
				s := c.openSession(h)
				require.Nil(t, s.prompt("use").end(turnLimit).Err)
				l.nothing(t, h, "before the change")
				l.pull(t)
				end := s.prompt("use").end(turnLimit)
				l.nothing(t, h, "after a pull between two prompts")
				require.NotNil(t, end.Err, "nothing overrules a model of a project")
				require.Contains(t, end.Err.Error(), "customModels")
				require.NoError(t, os.Remove(l.settingsFile()))
				require.Nil(t, s.prompt("use").end(turnLimit).Err, "and it goes on")
				c.end(h)
			})
		})
	}
}

// A checkout by the model during a turn has no effect on that turn.
func TestProjectChangesInATurn(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		l := newLater(t, h, model)
		branch := filepath.Join(h.dir, "branch.json")
		require.NoError(t, os.WriteFile(branch, l.appears, 0o644))
		model.On("checkout",
			modelserver.Step{Tools: []modelserver.ToolCall{execute("c1", "cp "+branch+" "+l.settingsFile()+"; sleep 2")}},
			modelserver.Step{Tools: []modelserver.ToolCall{execute("c2", "touch "+filepath.Join(l.marks, "allowed"))}}, modelserver.Step{Text: "Used."})
		c := startAgent(t, h).initialize().onPermission(func(p permission) string {
			if strings.Contains(string(p.ToolCall), "branch.json") {
				return allowOnce(p)
			}
			return trusts(goOnWithout)(p)
		})
		s := c.openSession(h)
		s.prompt("checkout").end(turnLimit)
		l.nothing(t, h, "in the turn")
		require.FileExists(t, l.settingsFile())
		end := s.prompt("use").end(turnLimit)
		l.nothing(t, h, "in the next turn")
		require.NotNil(t, end.Err)
		require.Contains(t, end.Err.Error(), "customModels")
		c.end(h)
	})
}

// A subagent of 0.99 is another droid, which would run the program named in bunfig.toml.
func TestNoSubagentRunsAPreload(t *testing.T) {
	for name, args := range map[string][]string{"not now": nil, "never": {"--trust", "never"}} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				g, p := &grower{h: h}, treePart{mode: 0o644, files: map[string][]byte{}}
				require.NoError(t, os.Mkdir(filepath.Join(h.dir, "marks"), 0o755))
				p.files["bunfig.toml"] = []byte("preload = [\"./preload.js\"]\n")
				p.files["preload.js"] = []byte("require('child_process').execSync(" + jsonText(g.canary(&p)).raw + ")\n")
				for name, data := range p.files {
					require.NoError(t, os.WriteFile(filepath.Join(h.work, name), data, 0o644))
				}
				model.On("delegate", modelserver.Step{Tools: []modelserver.ToolCall{{ID: "t", Name: "Task", Args: map[string]any{
					"subagent_type": "worker", "description": "Look around", "prompt": "Read a.txt", "complexity": "light", "run_in_background": false}}}},
					modelserver.Step{Text: "Done."})
				c := startAgent(t, h, args...).initialize().onPermission(trusts(goOnWithout))
				s := c.openSession(h)
				require.Nil(t, s.prompt("delegate").end(turnLimit).Err)
				require.Empty(t, newTraps(t).fired(t, h))
				if h.version == oldDroid {
					require.Contains(t, seenByModel(model, "delegate", 1), "no subagent can start")
				}
				c.end(h)
			})
		})
	}
}

// What keeps droid from watching files does not reach the model's commands or the editor's MCP servers: a program among them may watch with
// the same library. A user's own polling setting is kept.
func TestCommandsWatchFilesAsUsual(t *testing.T) {
	for name, own := range map[string][]string{"watching": nil, "polling": {"CHOKIDAR_USEPOLLING=true", "CHOKIDAR_INTERVAL=50"}} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				print := func(to string) string {
					return "env | grep ^CHOKIDAR | sort > " + filepath.Join(h.dir, to) + ".part; mv " + filepath.Join(h.dir, to) + ".part " + filepath.Join(h.dir, to)
				}
				model.On("watch", modelserver.Step{Tools: []modelserver.ToolCall{execute("c", print("command")+"; sh -c '"+print("child")+"'")}}, modelserver.Step{Text: "Done."})
				h.env = append(h.env, own...)
				c := startAgent(t, h).initialize().onPermission(allowOnce)
				var result newSession
				c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{map[string]any{
					"name": "m", "command": "sh", "args": []string{"-c", print("server") + "; cat > /dev/null"}, "env": []any{}}}}, &result)
				require.Nil(t, (session{c, result.SessionID}).prompt("watch").end(turnLimit).Err)
				for _, from := range []string{"command", "child", "server"} {
					path := filepath.Join(h.dir, from)
					require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, turnLimit, 100*time.Millisecond, from)
					data, err := os.ReadFile(path)
					require.NoError(t, err)
					var set []string
					for _, line := range strings.Fields(string(data)) {
						if !strings.HasSuffix(line, "=") { // which means to chokidar that it is not set
							set = append(set, line)
						}
					}
					require.ElementsMatch(t, own, set, from)
				}
				c.end(h)
			})
		})
	}
}

// startsChanged makes droid a wrapper that copies a directory's files over the project's when droid is started, or is about to open a
// session, once the directory exists: after the project was checked.
func (l *later) startsChanged(t *testing.T, h *home) (atStart, atOpening string) {
	t.Helper()
	atStart, atOpening = filepath.Join(h.dir, "at-start"), filepath.Join(h.dir, "at-opening")
	wrapper := filepath.Join(t.TempDir(), "droid")
	script := fmt.Sprintf(`#!/bin/sh
change() { [ ! -d "$1" ] || cp -r "$1/." %[3]q; }
change %[1]q
while IFS= read -r line; do
	case $line in *'"droid.initialize_session"'*) change %[2]q ;; esac
	printf '%%s\n' "$line"
done | exec %[4]q "$@"
`, atStart, atOpening, l.root, h.droid)
	require.NoError(t, os.WriteFile(wrapper, []byte(script), 0o755))
	h.droid = wrapper
	return atStart, atOpening
}

// In a trusted project, an MCP server or a hook that appears after the check, before droid reads the project, does not run.
func TestTrustedProjectChangesBeforeDroidReadsIt(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		l := newLater(t, h, model)
		atStart, atOpening := l.startsChanged(t, &h)
		trusted := map[string]any{"a": l.server("mcp-a")}
		servers := filepath.Join(".factory", "mcp.json")
		l.write(t, filepath.Join(l.root, servers), map[string]any{"mcpServers": trusted})
		c := startAgent(t, h).initialize().onPermission(trusts("Yes, trust this project"))
		require.Nil(t, c.openSession(h).prompt("hello").end(turnLimit).Err)
		c.end(h)
		for _, moment := range []string{atStart, atOpening} {
			require.NoError(t, os.RemoveAll(l.marks))
			require.NoError(t, os.Mkdir(l.marks, 0o755))
			require.NoError(t, os.RemoveAll(l.settingsFile()))
			l.write(t, filepath.Join(l.root, servers), map[string]any{"mcpServers": trusted})
			l.write(t, filepath.Join(moment, servers), map[string]any{"mcpServers": map[string]any{"a": trusted["a"], "appears": l.server("mcp-that-appears")}})
			l.write(t, filepath.Join(moment, ".factory", "settings.json"), map[string]any{"hooks": l.hooks("that-appears")})
			c = startAgent(t, h, "--spare", "none").initialize() // no droid starts before the check
			c.openSession(h)
			if moment == atOpening { // the droid of the other moment may be ended before its servers run
				require.Eventually(t, func() bool { return len(l.ran(t)) > 0 }, turnLimit, 100*time.Millisecond, moment)
			}
			require.Subset(t, []string{"mcp-a"}, l.settled(t), moment)
			require.FileExists(t, l.settingsFile(), "the project has changed")
			c.end(h)
			require.NoError(t, os.RemoveAll(moment))
		}
	})
}
