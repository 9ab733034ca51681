package adapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/testing/fakedroid"
)

// beginAs begins as an editor that declares these client capabilities.
func beginAs(t *testing.T, capabilities string, start starter) *editor {
	t.Helper()
	e := open(t, start)
	require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`,`+asZed+`}`).Error)
	answer := e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)
	require.Nil(t, answer.Error)
	var result struct{ SessionID string }
	require.NoError(t, json.Unmarshal(answer.Result, &result))
	e.session = result.SessionID
	return e
}

// callUpdate is a tool_call or tool_call_update that came.
type callUpdate struct {
	SessionUpdate string
	ToolCallID    string
	Status        string
	Title         string
	Content       []protocol.ToolContent
	Locations     []protocol.Location
	Meta          *protocol.ToolMeta `json:"_meta"`
}

// callUpdates are the tool calls and their updates that came, in order.
func (e *editor) callUpdates() []callUpdate {
	var out []callUpdate
	for _, m := range e.received() {
		var p struct{ Update callUpdate }
		if m.Method == "session/update" && json.Unmarshal(m.Params, &p) == nil && p.Update.ToolCallID != "" {
			out = append(out, p.Update)
		}
	}
	return out
}

func texts(content []protocol.ToolContent) string {
	var out []string
	for _, c := range content {
		switch {
		case c.Content != nil && c.Content.Text != nil:
			out = append(out, *c.Content.Text)
		default:
			out = append(out, c.Type)
		}
	}
	return strings.Join(out, "|")
}

var count = fakedroid.Tool{
	ID: "t1", Name: "Execute", Input: fakedroid.Fields{"command": "count"}, Confirmation: "exec", Impact: "medium",
	Details:  fakedroid.Fields{"fullCommand": "count", "impactLevel": "medium"},
	Progress: []string{"one", "two", "three"}, Result: "one\ntwo\nthree\nfour\n\n\n[Process exited with code 0]",
}

func TestCommandInATerminal(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := beginAs(t, `{"_meta":{"terminal_output":true}}`, playing(uses(count), v, fakedroid.WithPace(200*time.Millisecond)))
		require.Equal(t, "end_turn", e.run("count"))
		output, pieces, exits := "", 0, 0
		for i, u := range e.callUpdates() {
			if i == 0 {
				require.Equal(t, &protocol.TerminalInfo{TerminalID: "t1", CWD: "/workspace"}, u.Meta.TerminalInfo)
				require.Equal(t, "terminal", texts(u.Content))
				continue
			}
			require.Equal(t, "tool_call_update", u.SessionUpdate)
			if u.Meta == nil {
				continue
			}
			require.Nil(t, u.Meta.TerminalInfo)
			if u.Meta.TerminalOutput != nil {
				output += u.Meta.TerminalOutput.Data
				pieces++
			}
			if u.Meta.TerminalExit != nil {
				exits++
				require.Equal(t, 0, *u.Meta.TerminalExit.ExitCode)
				require.Equal(t, protocol.StatusCompleted, u.Status)
				require.Equal(t, "terminal", texts(u.Content))
			}
		}
		require.Equal(t, "one\ntwo\nthree\nfour\n", output)
		require.GreaterOrEqual(t, pieces, 3)
		require.Equal(t, 1, exits)
	})
}

func TestCommandWithoutATerminal(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(uses(count), v, fakedroid.WithPace(200*time.Millisecond)))
		require.Equal(t, "end_turn", e.run("count"))
		var shown []string
		for _, u := range e.callUpdates() {
			require.Nil(t, u.Meta)
			if u.Content != nil {
				shown = append(shown, texts(u.Content))
			}
		}
		require.Equal(t, []string{
			"```console\none\n```", "```console\none\ntwo\n```", "```console\none\ntwo\nthree\n```", "```console\none\ntwo\nthree\nfour\n```",
		}, shown)
	})
}

// Fast output is repeated ten times a second at most, and its last state comes
// although nothing follows.
func TestCommandOutputIsThrottled(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		fast := count
		fast.Progress = nil
		for i := range 100 {
			fast.Progress = append(fast.Progress, fmt.Sprintf("line number %d", i+1))
		}
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			if err := d.Use("", "On it. ", fast); err != nil {
				return err
			}
			return d.Say("", "Done.")
		}), v, fakedroid.WithPace(10*time.Millisecond)))
		require.Equal(t, "end_turn", e.run("count"))
		repeated := 0
		for _, u := range e.callUpdates() {
			if u.Content != nil {
				repeated++
			}
		}
		require.InDelta(t, 11, repeated, 2, "in about one second, with the result")
	})
}

func TestCommandThatFails(t *testing.T) {
	for _, tc := range []struct {
		name, result string
		isError      bool
		plain        string // without a terminal
		terminal     string
	}{
		{"exit code", "Error: Command failed (exit code: 3)\none\ntwo\nthree\n\n\n[Process exited with code 3]", true,
			"```console\none\ntwo\nthree\n```|Exit code 3", "terminal"},
		{"timeout, which droid calls no error", "Command timed out after 3 seconds. Consider more.\n\nPartial output before timeout:\none\ntwo\nthree", false,
			"```console\none\ntwo\nthree\n```|Command timed out after 3 seconds. Consider more.", "terminal|Command timed out after 3 seconds. Consider more."},
		{"stopped", "Error: Tool execution cancelled by user", true,
			"```console\none\ntwo\nthree\n```|Error: Tool execution cancelled by user", "terminal|Error: Tool execution cancelled by user"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				failing := count
				failing.Result, failing.IsError = tc.result, tc.isError
				for capabilities, want := range map[string]string{`{}`: tc.plain, `{"_meta":{"terminal_output":true}}`: tc.terminal} {
					e := beginAs(t, capabilities, playing(uses(failing), v, fakedroid.WithPace(200*time.Millisecond)))
					require.Equal(t, "end_turn", e.run("count"))
					all := e.callUpdates()
					last := all[len(all)-1]
					require.Equal(t, protocol.StatusFailed, last.Status)
					require.Equal(t, want, texts(last.Content))
					if last.Meta != nil {
						require.Equal(t, strings.Contains(tc.result, "code 3]"), last.Meta.TerminalExit.ExitCode != nil)
					}
					e.close()
				}
			})
		})
	}
}
