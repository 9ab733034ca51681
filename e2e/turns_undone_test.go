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

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

// A cancelled /rewind with files, at any moment, has either been executed and reports that, or has not: files, the user's output and the
// model's next input agree.
func TestRewindCancelled(t *testing.T) {
	ofAdapter(t)
	moments := []time.Duration{0, 1, 3, 10, 20, 40, 70, 120, 250, 600}
	if testing.Short() {
		moments = []time.Duration{0, 10, 40}
	}
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		made := filepath.Join(h.work, "made")
		create := modelserver.ToolCall{ID: "c", Name: "Create", Args: map[string]any{"file_path": made, "content": "new"}}
		model.On("first", modelserver.Step{Text: "One."})
		model.On("write", modelserver.Step{Text: "I write. ", Tools: []modelserver.ToolCall{create}}, modelserver.Step{Text: "Made."})
		model.On("after", modelserver.Step{Text: "Still here."})
		c := startAgent(t, h, "--mode", "auto-high").onPermission(allowOnce) // it asks before a file goes
		c.initialize()
		for _, moment := range moments {
			moment *= time.Millisecond
			_ = os.Remove(made) // the first time there is none
			s := c.openSession(h)
			require.Equal(t, "One.", s.say("first"))
			s.say("write it")
			require.FileExists(t, made)
			rewind := s.prompt("/rewind 2 files")
			time.Sleep(moment)
			s.notify("session/cancel", map[string]any{"sessionId": s.id})
			end := rewind.end(turnLimit)
			require.Nil(t, end.Err, "%v", moment)
			require.Contains(t, []string{"cancelled", "end_turn"}, end.Stop, "%v", moment)
			_, err := os.Stat(made)
			gone := os.IsNotExist(err)
			next := s.prompt("after that").done()
			told := end.text() + next.text()
			t.Logf("cancelled after %v: %s, the file is gone: %v", moment, end.Stop, gone)
			require.Equal(t, gone, strings.Contains(told, "back at the point before prompt 2"), "%v: %s", moment, told)
			require.NotContains(t, told, "does not use")
			require.Contains(t, told, "Still here.")
			var seen []string
			for _, m := range lastRequest(model).Messages {
				seen = append(seen, m.Text())
			}
			require.Equal(t, gone, !strings.Contains(strings.Join(seen, "\n"), "write it"), "%v: what the model sees", moment)
		}
	})
}

// A rewind asks before files change, and names one that the user has written since droid's edit, which droid would overwrite silently. It
// also reverts what a later prompt than the named one changed, which droid does not report when asked about one that changed no file.
func TestRewindAsksAboutFiles(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		file := filepath.Join(h.work, "kept")
		require.NoError(t, os.WriteFile(file, []byte("old\n"), 0o600))
		edit := modelserver.ToolCall{ID: "e", Name: "Edit", Args: map[string]any{"file_path": file, "old_str": "old", "new_str": "new"}}
		model.On("write", modelserver.Step{Text: "I write. ", Tools: []modelserver.ToolCall{edit}}, modelserver.Step{Text: "Made."})
		s := startAgent(t, h, "--mode", "auto-high").onPermission(rejectOnce).open(h)
		s.say("a question")
		s.say("write it")
		holds := func(want string) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, want, string(text))
		}
		holds("new\n")
		require.NoError(t, os.WriteFile(file, []byte("mine\n"), 0o600))
		require.Contains(t, s.say("/rewind 1 files"), "The conversation stays as it is.")
		holds("mine\n")
		s.await("the question", 0, time.Second, func(l line) bool {
			return strings.Contains(string(l.Params), "- `kept`, **changed by you or another program, too**")
		})
		s.onPermission(allowOnce)
		require.Contains(t, s.say("/rewind 1 files"), "Files restored: 1, deleted: 0.")
		holds("old\n")
	})
}

// A background command of the model does not end with its droid unless the user was asked or is informed.
func TestBackgroundCommandEnds(t *testing.T) {
	background := modelserver.ToolCall{ID: "b", Name: "Execute", Args: map[string]any{
		"summary": "Serve", "command": "sleep 298", "timeout": 300, "riskLevel": "medium", "riskLevelReason": "a test", "fireAndForget": true,
	}}
	for name, act := range map[string]func(t *testing.T, s session, h home){
		"compact": func(_ *testing.T, s session, _ home) { s.say("/compact") },
		"rewind":  func(_ *testing.T, s session, _ home) { s.say("/rewind 1") },
		"load": func(t *testing.T, s session, h home) {
			s.mustCall("session/load", map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{stdioServer(t, "tiny", "hello ")}}, nil)
		},
		"close": func(_ *testing.T, s session, _ home) {
			s.mustCall("session/close", map[string]any{"sessionId": s.id}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				if testing.Short() && (name == "compact" || name == "rewind") {
					t.Skip("the session's tests have it")
				}
				model.On("go", modelserver.Step{Text: "I serve. ", Tools: []modelserver.ToolCall{background}}, modelserver.Step{Text: "It runs."})
				model.On("after", modelserver.Step{Text: "Still here."})
				answer := rejectOnce
				asked := 0
				c := startAgent(t, h, "--mode", "auto-high").onPermission(func(p permission) string {
					asked++
					return answer(p)
				})
				s := c.open(h)
				s.say("go on")
				h.awaitProcess(t, "sleep 298")
				runs := func() bool {
					for _, p := range h.processes(t) {
						if strings.Contains(p.command, "sleep 298") {
							return true
						}
					}
					return false
				}
				from := c.seen()
				act(t, s, h)
				if asked > 0 {
					require.True(t, runs(), "it stays where the user says so")
					answer = allowOnce
					act(t, s, h)
				}
				if name != "close" {
					require.Contains(t, s.say("after that"), "Still here.")
				}
				texts, _ := c.agentSaid(from)
				told := strings.Contains(strings.Join(texts, ""), "ran in the background was ended")
				t.Logf("asked %d times, runs: %v, told: %v", asked, runs(), told)
				require.True(t, runs() || told, texts)
				h.endTools(t)
			})
		})
	}
}

// A title that is confirmed while the thread moves to another session is the thread's.
func TestTitleWhileTheThreadMoves(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		if !h.has(t, stream.RenamesSessions) {
			t.Skip(h.protocol(t).UnsupportedText(stream.RenamesSessions))
		}
		model.On("first", modelserver.Step{Text: "One."})
		model.On("second", modelserver.Step{Text: "Two."})
		c := startAgent(t, h)
		c.initialize()
		moments := []time.Duration{0, 20, 60, 150}
		if testing.Short() {
			moments = []time.Duration{0, 60} // the session's tests have more, with a scripted droid
		}
		confirmed := 0
		for _, command := range []string{"/compact", "/rewind 2"} {
			s := c.openSession(h)
			for _, moment := range moments {
				s.say("first")
				s.say("second")
				moves := s.prompt(command)
				time.Sleep(moment * time.Millisecond)
				title := "New " + command + " " + fmt.Sprint(int(moment))
				_, refused := c.call("session/set_title", map[string]any{"sessionId": s.id, "title": title})
				moves.done()
				if refused != nil { // one that droid has while it goes over is stored nowhere that anybody looks (0.225.2)
					t.Logf("%s, %v ms: %s", command, int(moment), refused.Error())
					require.Contains(t, refused.Error(), "did not store the title")
					continue
				}
				confirmed++
				require.Equal(t, title, c.titleOf(h, s.id))
			}
		}
		require.Greater(t, confirmed, len(moments))
	})
}

// A no to a project affects its sessions, in this agent and in another one, with their next prompt: they continue without the project's
// configuration.
func TestTrustTakenBack(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello."})
		require.NoError(t, os.Mkdir(filepath.Join(h.work, ".factory"), 0o755))
		self, err := os.Executable()
		require.NoError(t, err)
		// It answers: droid ends a server that does not, maybe before the third one has started.
		theirs, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"theirs": map[string]any{"type": "stdio", "command": self, "args": []string{"theirs"}, "env": map[string]string{mcpEnv: "hello "}}}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(h.work, ".factory", "mcp.json"), theirs, 0o600))
		servers := func() (n int) {
			for _, p := range h.processes(t) {
				if strings.Contains(p.command, self+" theirs") {
					n++
				}
			}
			return n
		}
		c, elsewhere := startAgent(t, h).onPermission(trusts("Yes, trust this project")), startAgent(t, h).onPermission(trusts(goOnWithout))
		t.Cleanup(func() { // their ends look for droids of both
			_ = c.stdin.Close()
			_ = elsewhere.stdin.Close()
		})
		c.initialize()
		elsewhere.initialize()
		first := c.openSession(h)
		first.say("hello")
		second, third := c.openSession(h), elsewhere.openSession(h)
		second.say("hello")
		third.say("hello")
		require.Eventually(t, func() bool { return servers() >= 3 }, turnLimit, 100*time.Millisecond)
		require.Contains(t, first.say("/trust no"), "Forgotten.")
		c.onPermission(trusts(goOnWithout))
		first.say("hello")
		second.say("hello")
		third.say("hello")
		h.awaitNone(t, turnLimit, func(p process) bool { return strings.Contains(p.command, self+" theirs") })
	})
}
