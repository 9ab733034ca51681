//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// long scripts a turn with a command of some seconds.
func long(model *modelserver.Server) {
	model.On("long", modelserver.Step{Text: "I begin. ", Tools: []modelserver.ToolCall{execute("a", "sleep 5; echo done > made")}}, modelserver.Step{Text: "That is all, and it was done."})
}

func made(h home) bool {
	_, err := os.Stat(filepath.Join(h.work, "made"))
	return err == nil
}

// steers sends a message by _session/steering, which begins a turn.
func (s session) steers(text string) {
	s.t.Helper()
	s.mustCall("_session/steering", map[string]any{"sessionId": s.id, "prompt": []any{map[string]any{"type": "text", "text": text}}}, nil)
}

// awaitSaid waits until the agent has sent a text.
func (c *client) awaitSaid(text string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		texts, _ := c.agentSaid(0)
		return strings.Contains(strings.Join(texts, ""), text)
	}, turnLimit, 50*time.Millisecond, "not said: %s", text)
}

// dies kills an editor.
func (c *client) dies() {
	c.signal(syscall.SIGKILL)
	<-c.exited
}

// serveByHand starts a server with the given flags.
func (h home) serveByHand(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(programs.Agent, append([]string{"serve"}, args...)...)
	cmd.Env, cmd.Dir = h.env, h.work
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it has ended by then
	require.Eventually(t, func() bool {
		text, _ := h.serverCommand(t, "ps")
		return strings.Contains(text, "The server runs")
	}, turnLimit, 50*time.Millisecond)
}

// A turn begun by a steering message continues like one of a prompt: when its window closes, the session is opened again or in another
// window, deleted, and when the server ends idle sessions after three seconds.
func TestSteeredTurnStays(t *testing.T) {
	for what, does := range map[string]func(t *testing.T, h home, first session){
		"reopened": func(t *testing.T, h home, first session) {
			first.dies()
			startKept(t, h).initialize().mustCall("session/load", h.params(first.id), nil)
		},
		"idle": func(_ *testing.T, _ home, first session) { first.dies() },
		"deleted": func(t *testing.T, h home, first session) {
			first.dies()
			_, err := startKept(t, h).initialize().call("session/delete", map[string]any{"sessionId": first.id})
			require.NotNil(t, err)
			require.Contains(t, err.Message, "something runs in it, which no window shows")
		},
	} {
		t.Run(what, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				long(model)
				h = h.keeps(t)
				h.serveByHand(t, "--keep-idle", "3s")
				first := startKept(t, h).onPermission(allowOnce).open(h)
				first.steers("long")
				h.awaitProcess(t, "sleep 5")
				does(t, h, first)
				require.Eventually(t, func() bool { return made(h) }, turnLimit, 50*time.Millisecond, "the turn was ended")
				last := startKept(t, h).initialize()
				last.mustCall("session/load", h.params(first.id), nil)
				last.awaitSaid("That is all, and it was done.")
			})
		})
	}
}

// A background command continues when its session is opened again.
func TestBackgroundCommandStays(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("serve", modelserver.Step{Text: "I serve. ", Tools: []modelserver.ToolCall{backgroundCall("b", "sleep 293")}}, modelserver.Step{Text: "It runs."})
		h = h.keeps(t)
		first := startKept(t, h, "--mode", "auto-high").open(h)
		first.say("serve")
		h.awaitProcess(t, "sleep 293")
		first.dies()
		second := startKept(t, h, "--mode", "auto-high").initialize()
		second.mustCall("session/load", h.params(first.id), nil)
		require.Equal(t, "still", session{second, first.id}.nextPrompt(model))
		require.True(t, h.runs(t, "sleep 293"))
		h.awaitState(t, first.id, "running")
	})
}

// A client that opens a session from another directory, even without a droid there, joins it, and ends nothing. All see what is steered,
// and when no window has the session open it can be deleted.
func TestJoinFromOtherDirectory(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h = h.keeps(t)
		first := startKept(t, h).onPermission(allowOnce).open(h)
		require.Equal(t, "still", first.nextPrompt(model))
		droids := h.droidIDs(t)
		elsewhere := h
		elsewhere.droid, elsewhere.env = "/nonexistent/droid", append([]string{"ONLY_HERE=1"}, h.env...)
		first.dies()
		second := session{startKept(t, elsewhere).onPermission(allowOnce).initialize(), first.id}
		second.mustCall("session/load", h.params(first.id), nil)
		second.awaitSaid("does not use of this window: `--droid`, `$ONLY_HERE`")
		require.Equal(t, "still", second.say("are you there?"))
		require.Subset(t, droids, h.droidIDs(t), "no droid was started")

		third := session{startKept(t, h).initialize(), first.id}
		third.mustCall("session/load", h.params(first.id), nil)
		model.On("steered", modelserver.Step{Text: "I heard."})
		second.steers("steered words")
		third.awaitText(0, "steered words")
		third.awaitSaid("I heard.")
		h.awaitState(t, first.id, "idle")
		second.dies()
		third.dies()
		require.Eventually(t, func() bool { text, _ := h.serverCommand(t, "ps"); return strings.Contains(text, "nobody") }, turnLimit, 50*time.Millisecond)
		fourth := startKept(t, h).initialize()
		fourth.mustCall("session/delete", map[string]any{"sessionId": first.id}, nil)
		var list struct{ Sessions []struct{ SessionID string } }
		fourth.mustCall("session/list", map[string]any{}, &list)
		require.Empty(t, list.Sessions)
	})
}

// droidIDs returns the process IDs of the home's droids.
func (h home) droidIDs(t *testing.T) (ids []int) {
	t.Helper()
	for _, p := range h.processes(t) {
		if p.droid {
			ids = append(ids, p.pid)
		}
	}
	return ids
}

// A client that only queries, and one that opens a session without using it, leave neither an agent nor a droid behind.
func TestQueriesLeaveNoProcess(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		h = h.keeps(t)
		stays := startKept(t, h).initialize()
		stays.catchUp()
		require.Empty(t, h.droidIDs(t))
		for range 2 {
			c := startKept(t, h).initialize()
			c.openSession(h)
			_ = c.stdin.Close()
			<-c.exited
		}
		agents := func() int {
			text, _ := h.serverCommand(t, "ps", "--json")
			var status struct{ Agents int }
			require.NoError(t, json.Unmarshal([]byte(text), &status), text)
			return status.Agents
		}
		require.Eventually(t, func() bool { return agents() == 0 && len(h.droidIDs(t)) == 0 }, turnLimit, 100*time.Millisecond, "agents or droids are left")
	})
}

// A session in each state when droid, its agent or the server is killed: connected clients get an error, nothing remains, and the session
// opens again.
func TestKilledUnderASession(t *testing.T) {
	begin := func(h home, s session, state string) (ran string, asked *turn) {
		switch state {
		case "prompt":
			turn := s.prompt("long")
			return "sleep 5", &turn
		case "steered":
			s.steers("long")
			return "sleep 5", nil
		case "background":
			s.say("serve")
			return "sleep 292", nil
		case "question":
			s.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "normal"}, nil)
			s.onPermission(noAnswer)
			turn := s.prompt("long")
			turn.await("a question", turn.from, turnLimit, isPermission)
			return "", &turn
		}
		return "", nil
	}
	ends := map[string]string{"droid": "droid was ended by signal", "agent": "The agent of this session has ended", "server": "The server that keeps this session has ended"}
	short := []string{"droid/prompt", "droid/background", "agent/steered", "agent/question", "server/resting", "server/prompt"} // of testing.Short
	for victim, why := range ends {
		for _, state := range []string{"resting", "prompt", "steered", "background", "question"} {
			t.Run(victim+"/"+state, func(t *testing.T) {
				if testing.Short() && !slices.Contains(short, victim+"/"+state) {
					t.Skip("not in a short run: the others have this victim and this state")
				}
				t.Parallel()
				model := newModel(t)
				long(model)
				model.On("serve", modelserver.Step{Text: "I serve. ", Tools: []modelserver.ToolCall{backgroundCall("b", "sleep 292")}}, modelserver.Step{Text: "It runs."})
				h := newHome(t, newDroid, model.URL()).keeps(t)
				s := startKept(t, h, "--mode", "auto-high").onPermission(allowOnce).open(h)
				require.Equal(t, "still", s.nextPrompt(model))
				ran, asked := begin(h, s, state)
				if ran != "" {
					h.awaitProcess(t, ran)
				}
				pid := h.keptProcess(t, victim)
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				if asked != nil {
					end := asked.end(turnLimit)
					require.NotNil(t, end.Err)
					require.Contains(t, end.Err.Message, why)
				}
				next := s
				if state == "background" && newDroid != latestDroid {
					ran = "" // droids before 0.225 may leave it behind
				}
				if victim != "droid" {
					<-s.exited
					require.Contains(t, s.stderr.String(), why, "the editor's process says why it ends")
					h.awaitNone(t, 30*time.Second, func(p process) bool {
						return p.pid != pid && (p.droid || ran != "" && strings.HasPrefix(p.command, ran))
					})
					next = session{startKept(t, h, "--mode", "auto-high").initialize(), s.id}
					next.mustCall("session/load", h.params(s.id), nil)
				} else if state != "resting" && asked == nil {
					told := map[string]string{"steered": why, "background": "ran in the background was ended"}[state]
					require.Eventually(t, func() bool { return strings.Contains(s.text(0), told) }, turnLimit, 50*time.Millisecond)
				}
				require.Contains(t, next.nextPrompt(model), "still")
			})
		}
	}
}

// keptProcess returns the process ID of the home's only droid, its agent or its server.
func (h home) keptProcess(t *testing.T, which string) int {
	t.Helper()
	if which == "droid" {
		text, _ := h.serverCommand(t, "ps", "--json")
		require.Contains(t, text, `"agent":`)
		return h.droidIDs(t)[0]
	}
	text, _ := h.serverCommand(t, "ps", "--json")
	var status struct {
		Process  int
		Sessions []struct{ Agent int }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &status), text)
	if which == "server" {
		return status.Process
	}
	return status.Sessions[0].Agent
}
