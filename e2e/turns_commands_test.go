//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// openAs opens a session in h as an editor with these client capabilities.
func (c *client) openAs(h home, capabilities map[string]any, mcpServers ...any) session {
	c.t.Helper()
	return c.openNamed(h, knownEditor, capabilities, mcpServers...)
}

// openNamed is openAs for a client with this clientInfo.
func (c *client) openNamed(h home, info, capabilities map[string]any, mcpServers ...any) session {
	c.t.Helper()
	c.mustCall("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info}, nil)
	var result newSession
	c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": append([]any{}, mcpServers...)}, &result)
	require.NotEmpty(c.t, result.SessionID)
	return session{c, result.SessionID}
}

// item is one item of a tool call's content.
type item struct {
	Type       string
	Content    struct{ Type, Text string }
	Path       string
	OldText    *string
	NewText    string
	TerminalID string
}

// items returns the content of a tool call or its update; nil if it has none.
func (u update) items() []item {
	var items []item
	_ = json.Unmarshal(u.Content, &items) // content of messages has another form
	return items
}

func itemText(items []item) string {
	var b strings.Builder
	for _, i := range items {
		b.WriteString(i.Content.Text)
	}
	return b.String()
}

// ofTool returns the updates of one tool call, the first one included.
func (e ending) ofTool(id string) []update {
	var out []update
	for _, u := range e.Updates {
		if u.ToolCallID == id {
			out = append(out, u)
		}
	}
	return out
}

const slowCount = "for i in $(seq 1 25); do echo line $i; sleep 0.2; done"

func counted() string {
	var b strings.Builder
	for i := range 25 {
		b.WriteString("line ")
		b.WriteString(string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)))
		b.WriteString("\n")
	}
	return strings.ReplaceAll(b.String(), "line 0", "line ")
}

func countModel(model *modelserver.Server) {
	model.On("count", modelserver.Step{Text: "I count. ", Tools: []modelserver.ToolCall{execute("a", slowCount)}}, modelserver.Step{Text: "Counted."})
}

// Output is sent while the command runs, growing, and is complete at the end.
func TestCommandOutputGrows(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		countModel(model)
		end := startAgent(t, h).onPermission(allowOnce).open(h).prompt("count").end(turnLimit)
		require.Nil(t, end.Err)
		growing, last, final := 0, "", ""
		for _, u := range end.ofTool("a") {
			text := itemText(u.items())
			if u.Status == "completed" {
				final = text
				break
			}
			if strings.Contains(text, "line") && text != last {
				if h.version == newDroid { // the old one reports two lines, on a busy machine not all of them
					require.GreaterOrEqual(t, len(text), len(last), "output does not shrink")
				}
				last = text
				growing++
			}
		}
		t.Logf("%d growing updates", growing)
		require.GreaterOrEqual(t, growing, 10)
		require.Equal(t, "```console\n"+counted()+"```", final)
	})
}

// terminalOf checks that a call follows the rules of terminals in _meta and returns the terminal's output, the number of pieces and the
// exit code.
func terminalOf(t *testing.T, updates []update) (shown string, pieces int, exit *int) {
	t.Helper()
	exits := 0
	for i, u := range updates {
		var call struct {
			Meta struct {
				Info *struct {
					ID  string `json:"terminal_id"`
					CWD string `json:"cwd"`
				} `json:"terminal_info"`
				Output *struct {
					ID   string `json:"terminal_id"`
					Data string `json:"data"`
				} `json:"terminal_output"`
				Exit *struct {
					ID   string `json:"terminal_id"`
					Code *int   `json:"exit_code"`
				} `json:"terminal_exit"`
			} `json:"_meta"`
		}
		require.NoError(t, json.Unmarshal([]byte(u.raw), &call))
		if i == 0 {
			require.Equal(t, "tool_call", u.SessionUpdate)
			require.NotNil(t, call.Meta.Info)
			require.Equal(t, "terminal", u.items()[0].Type)
			require.Equal(t, call.Meta.Info.ID, u.items()[0].TerminalID)
			continue
		}
		require.Nil(t, call.Meta.Info)
		if o := call.Meta.Output; o != nil {
			require.Equal(t, updates[0].items()[0].TerminalID, o.ID)
			require.Zero(t, exits, "output after the exit")
			shown += o.Data
			pieces++
		}
		if call.Meta.Exit != nil {
			exit = call.Meta.Exit.Code
			exits++
		}
	}
	require.Equal(t, 1, exits)
	return shown, pieces, exit
}

var terminals = map[string]any{"_meta": map[string]any{"terminal_output": true}}

func TestCommandInATerminal(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		s := startAgent(t, h).onPermission(allowOnce).openAs(h, terminals)
		t.Run("short", func(t *testing.T) {
			countModel(model)
			end := s.prompt("count").end(turnLimit)
			require.Nil(t, end.Err)
			updates := end.ofTool("a")
			shown, pieces, exit := terminalOf(t, updates)
			t.Logf("%d pieces", pieces)
			if h.version == newDroid {
				require.GreaterOrEqual(t, pieces, 10)
			}
			require.Equal(t, counted(), shown, "all output, once")
			require.Equal(t, 0, *exit)
			items := updates[len(updates)-1].items()
			require.Len(t, items, 1)
			require.Equal(t, "terminal", items[0].Type)
		})
		// More output than droid's window of 8 kB.
		t.Run("long", func(t *testing.T) {
			model.On("long", modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{
				execute("l", "for i in 1 2 3 4 5 6 7 8; do seq ${i}000 ${i}400; sleep 0.5; done")}}, modelserver.Step{Text: "Done."})
			end := s.prompt("long").end(turnLimit)
			require.Nil(t, end.Err)
			updates := end.ofTool("l")
			shown, pieces, exit := terminalOf(t, updates)
			last := updates[len(updates)-1].items()
			t.Logf("%d pieces, %d bytes, ends with %s", pieces, len(shown), last[0].Type)
			require.Equal(t, 0, *exit)
			text := shown
			if last[0].Type != "terminal" {
				text = itemText(last)
			}
			require.Contains(t, text, "\n8399\n8400")
			require.Equal(t, 1, strings.Count(text, "8400"))
		})
		t.Run("failing", func(t *testing.T) {
			slow := execute("b", "echo begin; sleep 60")
			slow.Args.(map[string]any)["timeout"] = 2
			model.On("exit", modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute("d", "echo out; exit 3")}}, modelserver.Step{Text: "Done."})
			model.On("timeout", modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{slow}}, modelserver.Step{Text: "Done."})
			model.On("stopped", modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute("c", "echo begin; sleep 60")}})
			end := s.prompt("exit").end(turnLimit)
			require.Equal(t, []string{"failed"}, end.tools())
			shown, _, exit := terminalOf(t, end.ofTool("d"))
			require.Equal(t, "out\n", shown)
			require.Equal(t, 3, *exit)

			end = s.prompt("timeout").end(turnLimit)
			require.Equal(t, []string{"failed"}, end.tools(), "a timeout is no success")
			updates := end.ofTool("b")
			shown, _, exit = terminalOf(t, updates)
			require.Equal(t, "begin", strings.TrimSpace(shown))
			require.Nil(t, exit)
			require.Contains(t, itemText(updates[len(updates)-1].items()), "timed out")

			running := s.prompt("stopped")
			running.awaitUpdate("output", func(u update) bool { return strings.Contains(u.raw, `"terminal_output"`) })
			s.notify("session/cancel", map[string]any{"sessionId": s.id})
			end = running.end(turnLimit)
			require.Equal(t, "cancelled", end.Stop)
			updates = end.ofTool("c")
			shown, _, _ = terminalOf(t, updates)
			require.Equal(t, "begin", strings.TrimSpace(shown))
			require.Equal(t, "terminal", updates[len(updates)-1].items()[0].Type, "the output so far stays")
			h.endTools(t)
		})
	})
}

// The output of a user's command reaches the model with the next prompt, and with no other.
func TestShell(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("erstens", modelserver.Step{Text: "I see."})
		model.On("zweitens", modelserver.Step{Text: "Still."})
		s := startAgent(t, h, "--shell").openAs(h, terminals)
		require.Contains(t, s.commands(), "shell")
		end := s.prompt("!pwd; echo marked-$((40+2)); exit 5").done()
		require.Equal(t, []string{"failed"}, end.tools())
		shown, _, exit := terminalOf(t, end.Updates)
		require.Equal(t, h.work+"\nmarked-42\n", shown)
		require.Equal(t, 5, *exit)

		running := s.prompt("/shell echo begun; sleep 300")
		running.awaitUpdate("output", func(u update) bool { return u.SessionUpdate == "tool_call_update" && u.Status == "" })
		s.notify("session/cancel", map[string]any{"sessionId": s.id})
		end = running.end(2 * time.Second)
		require.Equal(t, "cancelled", end.Stop)
		require.Equal(t, []string{"failed"}, end.tools())
		require.Contains(t, s.text(running.from), "Cancelled.")
		h.awaitNone(t, turnLimit, func(p process) bool { return p.command == "sleep 300 " })

		for _, prompt := range []string{"erstens", "zweitens"} {
			require.Equal(t, "end_turn", s.prompt(prompt).end(turnLimit).Stop)
			seen := 0
			for _, m := range lastRequest(model).Messages {
				if m.Role == "user" {
					seen += strings.Count(m.Text(), "marked-42")
				}
			}
			require.Equal(t, 1, seen, prompt)
		}
	})
}
