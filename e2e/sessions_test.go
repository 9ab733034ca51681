//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

const codeNotFound = -32002

func (h home) params(id string) map[string]any {
	return map[string]any{"sessionId": id, "cwd": h.work, "mcpServers": []any{}}
}

// said is a message of a conversation, as shown by the updates.
type said struct{ who, text string }

// messages joins the chunks of messages in the lines from one on.
func (c *client) messages(from int) (out []said, tools map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tools = map[string]string{}
	last := ""
	for _, l := range c.lines[from:] {
		u, ok := asUpdate(l)
		if !ok {
			continue
		}
		switch u.SessionUpdate {
		case "agent_message_chunk", "user_message_chunk":
			who := strings.TrimSuffix(u.SessionUpdate, "_message_chunk")
			if key := who + u.MessageID; key == last {
				out[len(out)-1].text += u.text()
			} else {
				out = append(out, said{who, strings.TrimLeft(u.text(), "\n")}) // apart from the message before
				last = key
			}
		case "tool_call", "tool_call_update":
			if u.Status != "" {
				tools[u.ToolCallID] = u.Status
			}
		}
	}
	return out, tools
}

// replay loads a session, and returns the history that the agent shows.
func (c *client) replay(h home, id string) ([]said, map[string]string) {
	c.t.Helper()
	from := c.seen()
	c.mustCall("session/load", h.params(id), nil)
	return c.messages(from)
}

// kill kills the agent, and returns when its droid has exited.
func (c *client) kill(h home) {
	c.t.Helper()
	c.signal(syscall.SIGKILL)
	<-c.exited
	h.awaitNoDroid(c.t, 10*time.Second)
}

// killDroid kills the droid of a home.
func (h home) killDroid(t *testing.T) {
	t.Helper()
	for _, p := range h.processes(t) {
		if p.droid {
			require.NoError(t, syscall.Kill(p.pid, syscall.SIGKILL))
		}
	}
}

// The model knows a code word of the first turn after the agent was killed and another one has loaded the session.
func TestSessionSurvivesTheAgent(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("remember", modelserver.Step{Thinking: "A word. ", Text: "I keep TANGERINE in mind."})
		model.On("look", modelserver.Step{Text: "I look. ", Tools: []modelserver.ToolCall{execute("a", "echo seen")}},
			modelserver.Step{Text: "I saw it."})
		model.On("which", modelserver.Step{Text: "It was TANGERINE."})

		s := startAgent(t, h).onPermission(allowOnce).open(h)
		from := s.seen()
		require.Equal(t, "end_turn", s.prompt("remember the word TANGERINE").end(turnLimit).Stop)
		require.Equal(t, "end_turn", s.prompt("look at it").end(turnLimit).Stop)
		live, liveTools := s.messages(from)
		s.kill(h)

		again := startAgent(t, h).initialize()
		replayed, replayedTools := again.replay(h, s.id)
		var agent []said
		for _, m := range replayed {
			require.NotContains(t, m.text, "system-reminder")
			if m.who == "agent" {
				agent = append(agent, m)
			}
		}
		require.Equal(t, live, agent, "the replay shows what was seen live")
		require.Equal(t, liveTools, replayedTools)
		require.Equal(t, said{"user", "remember the word TANGERINE"}, replayed[0])
		require.Len(t, replayed, len(live)+2)

		session{again, s.id}.prompt("which word was it?").done()
		requests := model.Requests()
		sent, err := json.Marshal(requests[len(requests)-1])
		require.NoError(t, err)
		require.Contains(t, string(sent), "TANGERINE")
	})
}

func TestUnknownSession(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		c := startAgent(t, h).initialize()
		for _, method := range []string{"session/load", "session/resume", "session/fork"} {
			_, err := c.call(method, h.params("6ba7b810-9dad-11d1-80b4-00c04fd430c8"))
			require.NotNil(t, err, method)
			require.Equal(t, codeNotFound, err.Code, method)
		}
	})
}

// 0.225 returns the last 100 messages unless asked for more (quirk 21).
func TestLongHistoryLoadsWhole(t *testing.T) {
	ofAdapter(t)
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		require.NoError(t, os.WriteFile(filepath.Join(h.work, "a.txt"), []byte("content"), 0o644))
		const turns = 27 // of four messages each
		read := modelserver.ToolCall{Name: "Read", Args: map[string]any{"file_path": filepath.Join(h.work, "a.txt")}}
		for i := range turns {
			call := read
			call.ID = fmt.Sprintf("call_%d", i)
			model.On(fmt.Sprintf("turn %d.", i), modelserver.Step{Text: "I read. ", Tools: []modelserver.ToolCall{call}},
				modelserver.Step{Text: fmt.Sprintf("Answer %d.", i)})
		}
		s := startAgent(t, h).open(h)
		from := s.seen()
		for i := range turns {
			require.Equal(t, "end_turn", s.prompt(fmt.Sprintf("turn %d.", i)).end(turnLimit).Stop)
		}
		live, liveTools := s.messages(from)
		require.Len(t, live, 2*turns)
		require.Len(t, liveTools, turns)
		s.kill(h)

		again := startAgent(t, h).initialize()
		replayed, replayedTools := again.replay(h, s.id)
		require.Len(t, replayed, 3*turns, "with the user's messages")
		require.Equal(t, said{"user", "turn 0."}, replayed[0])
		require.Equal(t, said{"agent", fmt.Sprintf("Answer %d.", turns-1)}, replayed[len(replayed)-1])
		require.Equal(t, liveTools, replayedTools)
	})
}

// droid is killed during text, a tool and a permission. Each time the prompt ends with an error and the next one works in the same session.
func TestDroidIsKilled(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("silent", modelserver.Step{Text: "Wait. ", Hang: true})
		model.On("sleep", modelserver.Step{Text: "I sleep. ", Tools: []modelserver.ToolCall{execute("a", "sleep 297")}})
		model.On("ask", modelserver.Step{Text: "May I? ", Tools: []modelserver.ToolCall{execute("b", "touch x")}})
		model.On("fine", modelserver.Step{Text: "All is fine."})
		s := startAgent(t, h).open(h)
		killed := func(turn turn) {
			h.killDroid(t)
			end := turn.end(turnLimit)
			require.NotNil(t, end.Err)
			require.Equal(t, codeInternal, end.Err.Code)
			require.Contains(t, end.Err.Message, "droid was ended by signal")
			h.endTools(t)
			next := s.prompt("is all fine?").done()
			require.Equal(t, "All is fine.", next.text())
		}
		turn := s.prompt("be silent")
		turn.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
		killed(turn)

		s.onPermission(allowOnce)
		turn = s.prompt("sleep well")
		h.awaitProcess(t, "sleep 297")
		killed(turn)

		s.onPermission(noAnswer)
		turn = s.prompt("ask me")
		s.await("a permission request", turn.from, turnLimit, func(l line) bool { return l.Method == "session/request_permission" })
		killed(turn)
		s.await("its withdrawal", turn.from, turnLimit, func(l line) bool { return l.Method == "$/cancel_request" })
	})
}

// TestResumeForkCloseDelete tests the rest of a session's life.
func TestResumeForkCloseDelete(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("remember", modelserver.Step{Text: "I keep QUINCE in mind."})
		model.On("which", modelserver.Step{Text: "It was QUINCE."})
		model.On("copy", modelserver.Step{Text: "In the copy."})
		c := startAgent(t, h)
		s := c.open(h)
		require.Equal(t, "end_turn", s.prompt("remember QUINCE").end(turnLimit).Stop)
		c.mustCall("session/close", map[string]any{"sessionId": s.id}, nil)
		h.awaitNoDroid(t, 10*time.Second)

		from := c.seen()
		c.mustCall("session/resume", h.params(s.id), nil)
		replayed, _ := c.messages(from)
		require.Empty(t, replayed, "resume replays nothing")
		require.Equal(t, "It was QUINCE.", s.prompt("which word?").end(turnLimit).text())

		var forked newSession
		c.mustCall("session/fork", h.params(s.id), &forked)
		require.NotEqual(t, s.id, forked.SessionID)
		require.Equal(t, "In the copy.", session{c, forked.SessionID}.prompt("copy").end(turnLimit).text())
		replayed, _ = c.replay(h, s.id)
		require.Equal(t, []said{{"user", "remember QUINCE"}, {"agent", "I keep QUINCE in mind."}, {"user", "which word?"}, {"agent", "It was QUINCE."}},
			replayed, "the original is untouched")

		require.ElementsMatch(t, []string{s.id, forked.SessionID}, c.listed(h))
		c.mustCall("session/delete", map[string]any{"sessionId": s.id}, nil)
		require.Equal(t, []string{forked.SessionID}, c.listed(h))
		c.mustCall("session/delete", map[string]any{"sessionId": s.id}, nil)
		_, err := c.call("session/load", h.params(s.id))
		require.NotNil(t, err)
		require.Equal(t, codeNotFound, err.Code)
	})
}

// listed returns the IDs of the sessions of the home's workspace.
func (c *client) listed(h home) []string {
	c.t.Helper()
	var result struct {
		Sessions []struct{ SessionID, CWD, Title, UpdatedAt string }
	}
	c.mustCall("session/list", map[string]any{"cwd": h.work}, &result)
	var ids []string
	for _, s := range result.Sessions {
		require.Equal(c.t, h.work, s.CWD)
		_, err := time.Parse(time.RFC3339, s.UpdatedAt)
		require.NoError(c.t, err)
		ids = append(ids, s.SessionID)
	}
	return ids
}

// Two agents on one home do not affect each other.
func TestTwoAgentsOnOneHome(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello."})
		a, b := startAgent(t, h), startAgent(t, h)
		sa, sb := a.open(h), b.open(h)
		require.Equal(t, "Hello.", sa.prompt("hello from a").end(turnLimit).text())
		require.Equal(t, "Hello.", sb.prompt("hello from b").end(turnLimit).text())
		require.ElementsMatch(t, []string{sa.id, sb.id}, a.listed(h))
		// A session that the other agent has open is not deleted: its droid 0.99 would continue in a file without a beginning.
		_, err := b.call("session/delete", map[string]any{"sessionId": sa.id})
		require.NotNil(t, err)
		require.Contains(t, err.Message, "close it there first")
		b.mustCall("session/delete", map[string]any{"sessionId": sb.id}, nil)
		require.Equal(t, []string{sa.id}, a.listed(h))
		require.Equal(t, "Hello.", sa.prompt("hello again").end(turnLimit).text())
		// Each agent's clean-up checks that no droid of the home is left.
		require.NoError(t, a.stdin.Close())
		<-a.exited
		loaded := b.seen()
		b.mustCall("session/load", h.params(sa.id), nil)
		messages, _ := b.messages(loaded)
		require.Len(t, messages, 4, "the conversation is whole")
		b.mustCall("session/delete", map[string]any{"sessionId": sa.id}, nil)
		require.Empty(t, b.listed(h))
	})
}

// Of several sessions only the one in use has a process.
func TestParkedSessionsHaveNoProcess(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello."})
		c := startAgent(t, h, "--park-after", "1s").initialize()
		var sessions []session
		for range 3 {
			var result newSession
			c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, &result)
			s := session{c, result.SessionID}
			require.Equal(t, "Hello.", s.prompt("hello").end(turnLimit).text())
			sessions = append(sessions, s)
		}
		h.awaitNoDroid(t, 20*time.Second)

		first := sessions[0]
		c.mustCall("session/set_mode", map[string]any{"sessionId": first.id, "modeId": "auto-low"}, nil)
		h.awaitNoDroid(t, 20*time.Second)
		began := time.Now()
		require.Equal(t, "Hello.", first.prompt("hello").end(turnLimit).text())
		t.Logf("the first turn after parking took %v", time.Since(began))
		var loaded newSession
		c.mustCall("session/resume", h.params(first.id), &loaded)
		require.Equal(t, "auto-low", loaded.Modes.CurrentModeID, "the mode is as it was")
		droids := 0
		for _, p := range h.processes(t) {
			if p.droid {
				droids++
			}
		}
		require.LessOrEqual(t, droids, 1)
	})
}

// With --spare each, an opened session causes another droid to be started in its directory, which the next session there takes.
func TestPrewarmedForEachSession(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello."})
		c := startAgent(t, h, "--spare", "each").initialize()
		h.work = filepath.Join(h.work, "elsewhere")
		require.NoError(t, os.Mkdir(h.work, 0o755))
		open := func() session {
			var result newSession
			c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, &result)
			return session{c, result.SessionID}
		}
		pids := func() (pids []int) {
			for _, p := range h.processes(t) {
				if p.droid {
					pids = append(pids, p.pid)
				}
			}
			slices.Sort(pids)
			return pids
		}
		first := open()
		require.Eventually(t, func() bool { return len(pids()) == 2 }, 20*time.Second, 50*time.Millisecond, "its own, and the spare")
		waiting := pids()
		second := open()
		require.Subset(t, pids(), waiting, "the second has the one that waited")
		require.Equal(t, "Hello.", first.prompt("hello").end(turnLimit).text())
		require.Equal(t, "Hello.", second.prompt("hello").end(turnLimit).text())
		c.mustCall("session/close", map[string]any{"sessionId": first.id}, nil)
		c.mustCall("session/close", map[string]any{"sessionId": second.id}, nil)
		h.awaitNone(t, 20*time.Second, func(p process) bool { return p.droid && slices.Contains(waiting, p.pid) })
	})
}
