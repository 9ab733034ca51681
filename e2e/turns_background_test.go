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

// backgroundCall is a call of droid's Execute tool that leaves its command running.
func backgroundCall(id, command string) modelserver.ToolCall {
	call := execute(id, command)
	call.Args.(map[string]any)["fireAndForget"] = true
	return call
}

// lines are the lines from one on, as text.
func (c *client) text(from int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, l := range c.lines[from:] {
		if u, ok := asUpdate(l); ok {
			b.WriteString(u.raw + "\n")
		}
	}
	return b.String()
}

// awaitText waits for an update that contains all of these.
func (c *client) awaitText(from int, texts ...string) {
	c.t.Helper()
	c.await(strings.Join(texts, " and "), from, answerLimit, func(l line) bool {
		u, ok := asUpdate(l)
		for _, text := range texts {
			ok = ok && strings.Contains(u.raw, text)
		}
		return ok
	})
}

// runs reports whether a process of the home has these words in its command line.
func (h home) runs(t testing.TB, words string) bool {
	for _, p := range h.processes(t) {
		if strings.Contains(p.command, words) {
			return true
		}
	}
	return false
}

// A background command is shown while it runs, and when it has ended or was stopped; each kind of client gets what it can show.
func TestBackgroundCommandIsFollowed(t *testing.T) {
	for name, capabilities := range map[string]map[string]any{
		"terminals": {"_meta": map[string]any{"terminal_output": true}},
		"others":    {},
		"Air":       {"_meta": map[string]any{"jetbrains": map[string]any{"air": map[string]any{"version": 1, "capabilities": []any{"asyncTasks"}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				if testing.Short() && name == "terminals" {
					t.Skip("TestBackgroundCommandInTwoWindows has such clients")
				}
				gate := filepath.Join(h.dir, "gate")
				model.On("serve", modelserver.Step{Text: "I serve. ", Tools: []modelserver.ToolCall{backgroundCall("b", "echo ready; while [ ! -e "+gate+" ]; do sleep 0.1; done; echo bye; exit 3")}},
					modelserver.Step{Text: "It runs."})
				model.On("again", modelserver.Step{Text: "I serve. ", Tools: []modelserver.ToolCall{backgroundCall("c", "echo up; sleep 296 & wait")}}, modelserver.Step{Text: "It runs."})
				c := startAgent(t, h, "--mode", "auto-high")
				c.mustCall("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": knownEditor}, nil)
				s := c.openSession(h)
				from := c.seen()
				s.say("serve")
				said := c.text(from)
				t.Log(said)
				require.Contains(t, said, "It runs in the background: `/background`.")
				require.NotContains(t, said, "CLI exits")
				require.NotContains(t, said, "terminal_exit")
				switch name {
				case "terminals":
					c.awaitText(from, `"terminal_output":`, `"data":"ready\n"`)
				case "Air":
					c.awaitText(from, `"async_task_spawned"`, `"toolCallId":"b"`)
					c.awaitText(from, `"async_task_progress"`, `"summary":"ready"`)
				}
				require.Contains(t, s.say("/background"), "- 1: `echo ready;")
				from = c.seen()
				require.NoError(t, os.WriteFile(gate, nil, 0o600))
				switch name {
				case "terminals":
					c.awaitText(from, `"terminal_exit":`, `"exit_code":null`, "It has ended. droid does not tell how.")
					require.Contains(t, c.text(from), `"data":"bye\n"`)
				case "Air":
					c.awaitText(from, `"async_task_state_update"`, `"state":"completed"`)
					require.Contains(t, c.text(from), `ready\nbye\n`)
					require.NotContains(t, c.text(from), "A command that droid ran in the background has ended", "once is enough")
				default:
					c.awaitText(from, "A command that droid ran in the background has ended", `ready\nbye\n`)
				}

				from = c.seen()
				s.say("again")
				h.awaitProcess(t, "sleep 296")
				if name == "Air" {
					_, l := c.await("the task", from, answerLimit, func(l line) bool { return strings.Contains(string(l.Params), "async_task_spawned") })
					_, rest, _ := strings.Cut(string(l.Params), `"asyncTaskId":"`)
					id, _, _ := strings.Cut(rest, `"`)
					var result struct{ Stopped bool }
					c.mustCall("_session/async_task/stop", map[string]any{"sessionId": s.id, "asyncTaskId": id}, &result)
					require.True(t, result.Stopped)
					c.awaitText(from, `"async_task_state_update"`, `"state":"stopped"`)
				} else {
					require.Contains(t, s.say("/background stop 2"), "Stopped: `echo up;")
				}
				require.False(t, h.runs(t, "sleep 296"), "the whole group")
				require.Contains(t, s.say("/background"), "Nothing runs in the background")
			})
		})
	}
}

// A background command ends with its droid, except if that is killed from outside, which leaves it running; a load reports that it has
// ended, and while droid runs that it is running.
func TestBackgroundCommandOfALoad(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("serve", modelserver.Step{Text: "I serve. ", Tools: []modelserver.ToolCall{backgroundCall("b", "echo ready; sleep 295")}}, modelserver.Step{Text: "It runs."})
		c := startAgent(t, h, "--mode", "auto-high")
		c.mustCall("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"_meta": map[string]any{"terminal_output": true}}, "clientInfo": knownEditor}, nil)
		s := c.openSession(h)
		from := c.seen()
		s.say("serve")
		c.awaitText(from, `"data":"ready\n"`)
		load := map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{}}
		from = c.seen()
		s.mustCall("session/load", load, nil)
		require.Contains(t, c.text(from), "It runs in the background: `/background`.")
		require.Contains(t, c.text(from), `"data":"ready\n"`)
		require.True(t, h.runs(t, "sleep 295"))

		from = c.seen()
		for _, p := range h.processes(t) {
			if p.droid {
				require.NoError(t, syscall.Kill(p.pid, syscall.SIGKILL))
			}
		}
		c.awaitText(from, "ran in the background was ended")
		require.Contains(t, c.text(from), "It was ended together with droid.")
		require.Contains(t, c.text(from), `"terminal_exit":`)
		require.Eventually(t, func() bool { return !h.runs(t, "sleep 295") }, turnLimit, 20*time.Millisecond, "nobody is left behind")
		from = c.seen()
		s.mustCall("session/load", load, nil)
		require.Contains(t, c.text(from), "It ran in the background, and ended with droid.")
		require.NotContains(t, c.text(from), "CLI exits")
	})
}

// A background command also ends with its agent, even if that is killed; another agent's load reports that. 0.99 leaves it running, 0.215
// in eight of ten cases, and a load reports that it may still run, until it has ended.
func TestBackgroundCommandOfAKilledAgent(t *testing.T) {
	notKept(t, "the agent is to outlive the front that is killed; TestBackgroundCommandInTwoWindows has what a window sees")
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("serve", modelserver.Step{Text: "I serve. ", Tools: []modelserver.ToolCall{backgroundCall("b", "sleep 296")}}, modelserver.Step{Text: "It runs."})
		c := startAgent(t, h, "--mode", "auto-high")
		s := c.open(h)
		s.say("serve")
		require.True(t, h.runs(t, "sleep 296"))
		c.signal(syscall.SIGKILL)
		<-c.exited
		load := func() string {
			other := startAgent(t, h).initialize()
			other.mustCall("session/load", map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{}}, nil)
			_ = other.stdin.Close()
			<-other.exited
			return other.text(0)
		}
		h.awaitNoDroid(t, leavingLimit)
		if h.version == oldDroid {
			require.True(t, h.runs(t, "sleep 296"))
		}
		if h.version != latestDroid && h.runs(t, "sleep 296") {
			said := load()
			require.Contains(t, said, "may still run: as process ")
			require.NotContains(t, said, "ended with droid")
			h.endTools(t)
		}
		require.Eventually(t, func() bool { return !h.runs(t, "sleep 296") }, leavingLimit, 20*time.Millisecond, "nobody is left behind")
		require.Contains(t, load(), "It ran in the background, and ended with droid.")
	})
}

// With --keep both windows see what a background command does, and either stops it.
func TestBackgroundCommandInTwoWindows(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("serve", modelserver.Step{Text: "I serve. ", Tools: []modelserver.ToolCall{backgroundCall("b", "echo ready; sleep 3; echo later; sleep 294")}}, modelserver.Step{Text: "It runs."})
		h = h.keeps(t)
		begin := func() *client {
			c := startKept(t, h, "--mode", "auto-high")
			c.mustCall("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"_meta": map[string]any{"terminal_output": true}}, "clientInfo": knownEditor}, nil)
			return c
		}
		one := begin()
		first := one.openSession(h)
		first.say("serve")
		one.awaitText(0, `"data":"ready\n"`)
		two := begin()
		load := map[string]any{"sessionId": first.id, "cwd": h.work, "mcpServers": []any{}}
		two.mustCall("session/load", load, nil)
		require.Contains(t, two.text(0), "It runs in the background")
		require.Contains(t, two.text(0), `"data":"ready\n`)
		one.awaitText(0, "later")
		two.awaitText(0, "later")
		second := session{two, first.id}
		require.Contains(t, second.say("/background"), "- 1: `echo ready;")
		require.Contains(t, second.say("/background stop 1"), "Stopped: `echo ready;")
		require.False(t, h.runs(t, "sleep 294"))
		for _, c := range []*client{one, two} {
			c.awaitText(0, `"terminal_exit":`, "You have stopped it.")
			_ = c.stdin.Close()
		}
		<-one.exited
		<-two.exited
	})
}
