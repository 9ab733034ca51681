package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// window is one of several editors that have the same session open, over a server.
type window struct {
	*agentProcess
	saw  []string // the lines of which until has looked at
	next int
}

// twoWindows have a session of windowsDroid open.
func twoWindows(t *testing.T, files map[string]string) (one, two *window) {
	t.Helper()
	one, two, _ = twoWindowsAt(t, files)
	return one, two
}

// twoWindowsAt is twoWindows with their home.
func twoWindowsAt(t *testing.T, files map[string]string) (one, two *window, k keptHome) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	front, k := startKeptDroid(t, fmt.Sprintf("export %s=1\nDROID='%s exec'", envWindows, self))
	for name, text := range files {
		path := filepath.Join(front.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	work := filepath.Join(front.dir, "work")
	require.NoError(t, os.MkdirAll(work, 0o755))
	cmd := exec.Command(front.cmd.Args[0], front.cmd.Args[1:]...)
	cmd.Env, cmd.Dir = k.env, front.dir
	one, two = &window{agentProcess: front, next: 10}, &window{agentProcess: startCommand(t, cmd), next: 10}
	one.initializes()
	one.send(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, work)
	var result struct{ SessionID string }
	require.NoError(t, json.Unmarshal(one.response(2).Result, &result))
	one.session = result.SessionID
	two.joins(one)
	return one, two, k
}

func (w *window) initializes() {
	w.t.Helper()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"zed","version":"1"}}}`)
	w.response(1)
}

// joins opens the session of another window.
func (w *window) joins(other *window) {
	w.t.Helper()
	w.initializes()
	w.session = other.session
	w.send(`{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, w.session, filepath.Join(w.dir, "work"))
	w.until(`"id":2,"result"`)
}

// until waits for a line that has all of these in it.
func (w *window) until(parts ...string) agentLine {
	w.t.Helper()
	return w.await(strings.Join(parts, " and "), func(l agentLine) bool {
		w.saw = append(w.saw, l.Raw)
		for _, part := range parts {
			if !strings.Contains(l.Raw, part) {
				return false
			}
		}
		return true
	})
}

// ask sends a prompt, with more members of its params, and returns its id.
func (w *window) ask(text, more string) (id string) {
	w.next++
	w.send(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]%s}}`, w.next, w.session, text, more)
	return fmt.Sprintf(`"id":%d,"result"`, w.next)
}

// said returns what the agent has sent from a line on.
func (w *window) said(from int) string {
	var b strings.Builder
	for _, raw := range w.saw[from:] {
		var m struct {
			Params struct {
				Update struct {
					SessionUpdate string
					Content       json.RawMessage
				}
			}
		}
		var text struct{ Text string }
		if u := &m.Params.Update; json.Unmarshal([]byte(raw), &m) == nil && u.SessionUpdate == "agent_message_chunk" && json.Unmarshal(u.Content, &text) == nil {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// untilSaid waits until the agent has said this.
func (w *window) untilSaid(text string) {
	w.t.Helper()
	for !strings.Contains(w.said(0), text) {
		w.until("")
	}
}

// answerTo runs a command and returns what was sent during it.
func (w *window) answerTo(command string) string {
	w.t.Helper()
	from := len(w.saw)
	w.until(w.ask(command, ""), "end_turn")
	return w.said(from)
}

func (w *window) all() string { return strings.Join(w.saw, "\n") }

// ends are how the calls have ended that a window saw, by their titles.
func (w *window) ends() map[string]string {
	titles, ends := map[string]string{}, map[string]string{}
	for _, raw := range w.saw {
		var m struct {
			Params struct {
				Update struct{ ToolCallID, Title, Status string }
			}
		}
		if u := &m.Params.Update; json.Unmarshal([]byte(raw), &m) == nil && u.ToolCallID != "" {
			if u.Title != "" {
				titles[u.ToolCallID] = u.Title
			}
			if u.Status != "" {
				ends[u.ToolCallID] = u.Status
			}
		}
	}
	named := map[string]string{}
	for id, end := range ends {
		named[titles[id]] = end
	}
	return named
}

// TestSubagentInTwoWindows: both windows see the Task, whose subagent asks, and how its calls end. Who answers takes the question
// away from the other.
func TestSubagentInTwoWindows(t *testing.T) {
	t.Parallel()
	for word, last := range map[string]string{"delegate": "All found.", "leave": "All reported."} {
		for _, allows := range []bool{true, false} {
			t.Run(fmt.Sprint(word, " ", allows), func(t *testing.T) {
				t.Parallel()
				one, two := twoWindows(t, nil)
				option, end := "reject_once", "failed"
				answers, other := one, two
				if allows {
					option, end, answers, other = "allow_once", "completed", two, one
				}
				prompted := one.ask(word, "")
				if word == "leave" {
					one.until(prompted, "end_turn")
				}
				asked := map[*window]agentLine{}
				for _, w := range []*window{one, two} {
					asked[w] = w.until("session/request_permission", "Subagent *look* asks.")
				}
				id := regexp.MustCompile(`"optionId":"([^"]+)","name":"[^"]*","kind":"` + option + `"`).FindStringSubmatch(asked[answers].Raw)
				require.NotNil(t, id, asked[answers].Raw)
				answers.send(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, asked[answers].ID, id[1])
				other.until("$/cancel_request", strings.Trim(string(asked[other].ID), `"`))
				for _, w := range []*window{one, two} {
					w.untilSaid(last)
				}
				if word == "delegate" {
					one.until(prompted, "end_turn")
					two.until(`"stopReason":"end_turn"`)
				}
				require.Contains(t, one.answerTo("hello"), "You said hello")
				two.untilSaid("You said hello")
				for n, w := range []*window{one, two} {
					require.Equal(t, map[string]string{"Task look": "completed", "touch a": end}, w.ends(), "window %d: %s", n+1, w.all())
					require.Contains(t, w.all(), "found it")
					require.Equal(t, 1, strings.Count(w.all(), "session/request_permission"))
				}
			})
		}
	}
}

// TestWindowJoinsWhileASubagentAsks: it sees what the others saw, has the question, and may answer it.
func TestWindowJoinsWhileASubagentAsks(t *testing.T) {
	t.Parallel()
	for word, last := range map[string]string{"delegate": "All found.", "leave": "All reported."} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			one, two, k := twoWindowsAt(t, nil)
			one.ask(word, "")
			for _, w := range []*window{one, two} {
				w.until("session/request_permission")
			}
			cmd := exec.Command(one.cmd.Args[0], one.cmd.Args[1:]...)
			cmd.Env, cmd.Dir = k.env, one.dir
			three := &window{agentProcess: startCommand(t, cmd), next: 10}
			three.joins(one)
			asked := three.until("session/request_permission", "Subagent *look* asks.")
			id := regexp.MustCompile(`"optionId":"([^"]+)","name":"[^"]*","kind":"allow_once"`).FindStringSubmatch(asked.Raw)
			require.NotNil(t, id, asked.Raw)
			three.send(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, asked.ID, id[1])
			for _, w := range []*window{one, two} {
				w.until("$/cancel_request")
			}
			for n, w := range []*window{one, two, three} {
				w.untilSaid(last)
				require.Equal(t, map[string]string{"Task look": "completed", "touch a": "completed"}, w.ends(), "window %d: %s", n+1, w.all())
			}
		})
	}
}

// The question is withdrawn in both windows, no call stays open, and the window that prompted gets one error.
func TestDroidDiesWhileASubagentAsks(t *testing.T) {
	t.Parallel()
	one, two := twoWindows(t, nil)
	prompted := one.ask("perish", "")
	for _, w := range []*window{one, two} {
		w.until("session/request_permission")
		w.until("$/cancel_request")
	}
	one.until(strings.TrimSuffix(prompted, `"result"`)+`"error"`, "droid exited with code 9")
	two.untilSaid("The prompt failed: droid exited with code 9")
	for n, w := range []*window{one, two} {
		w.untilSaid("Subagent *look* ended with droid's process, before it was done.")
		require.Equal(t, map[string]string{"Task look": "completed", "touch a": "failed"}, w.ends(), "window %d: %s", n+1, w.all())
		require.Contains(t, w.all(), "The subagent worked in the background and ended with droid's process, before it was done.")
	}
}

// The question is withdrawn in both windows, and the window that prompted gets one error.
func TestAgentDiesWhileASubagentAsks(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"delegate", "leave"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			one, two, k := twoWindowsAt(t, nil)
			prompted := one.ask(word, "")
			if word == "leave" {
				one.until(prompted, "end_turn")
			}
			for _, w := range []*window{one, two} {
				w.until("session/request_permission")
			}
			require.NoError(t, syscall.Kill(k.status().Sessions[0].Agent, syscall.SIGKILL))
			for _, w := range []*window{one, two} {
				w.until("$/cancel_request")
			}
			if word == "delegate" {
				require.Contains(t, one.until(strings.TrimSuffix(prompted, `"result"`)+`"error"`).Raw, "agent_ended")
			}
			for _, w := range []*window{one, two} {
				w.untilSaid("The agent of this session has ended (signal: killed). Open the session again to go on.")
			}
			require.Eventually(t, func() bool { return len(k.status().Sessions) == 0 }, patience, 10*time.Millisecond)
		})
	}
}

// What one window takes back or switches is visible in the other's next list; of two that do so at once, one is told that nothing is left
// to do.
func TestListsInTwoWindows(t *testing.T) {
	t.Parallel()
	one, two := twoWindows(t, map[string]string{
		".factory/settings.json": `{"commandAllowlist":["touch","make"]}`,
		".factory/mcp.json":      `{"mcpServers":{"mine":{"command":"a"}}}`,
	})
	require.Contains(t, one.answerTo("/permissions"), "- allowed: `make`")
	require.Contains(t, two.answerTo("/permissions forget make"), "Taken back: `make`")
	list := one.answerTo("/permissions")
	require.Contains(t, list, "- allowed: `touch`")
	list = list[strings.LastIndex(list, "Yours, in"):]
	require.NotContains(t, list, "`make`")

	ends := map[*window]string{one: one.ask("/permissions forget touch", ""), two: two.ask("/permissions forget touch", "")}
	from := map[*window]int{one: len(one.saw), two: len(two.saw)}
	for w, end := range ends {
		w.until(end, "end_turn")
	}
	one.answerTo("hello")
	two.answerTo("hello")
	for w := range ends {
		said := w.said(from[w])
		require.Equal(t, 1, strings.Count(said, "Taken back: `touch`"), said)
		require.Equal(t, 1, strings.Count(said, "There is no such entry."), said)
	}

	require.Contains(t, one.answerTo("/mcp"), "- mine: connected")
	require.Contains(t, two.answerTo("/mcp disable mine"), "mine is off")
	require.Contains(t, one.answerTo("/mcp"), "- mine: disabled")
	off, on := one.ask("/mcp disable mine", ""), two.ask("/mcp enable mine", "")
	one.until(off, "end_turn")
	two.until(on, "end_turn")
	shown := regexp.MustCompile(`- mine: (\w+)`)
	require.Equal(t, shown.FindStringSubmatch(one.answerTo("/mcp"))[1], shown.FindStringSubmatch(two.answerTo("/mcp"))[1])
}

// TestStructuredOutputInTwoWindows: of two prompts at once each has its own output, and one that wants none has none.
func TestStructuredOutputInTwoWindows(t *testing.T) {
	t.Parallel()
	one, two := twoWindows(t, nil)
	const format = `,"_meta":{"droid-acp":{"outputFormat":{"type":"json_schema","schema":{"type":"object"}}}}`
	first, second := one.ask("count 4", format), two.ask("count 5", format)
	plain := two.ask("count 6", "")
	require.Contains(t, one.until(first).Raw, `"structuredOutput":{"n":4}`)
	require.Contains(t, two.until(second).Raw, `"structuredOutput":{"n":5}`)
	require.NotContains(t, two.until(plain).Raw, "structuredOutput")
	one.untilSaid("counted 6")
	for _, w := range []*window{one, two} {
		for _, raw := range w.saw {
			require.False(t, strings.Contains(raw, "session/update") && strings.Contains(raw, "structuredOutput"), raw)
		}
	}
}
