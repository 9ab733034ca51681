package render

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
)

// callsOf returns the tool_calls among the shown updates, with the names of their tools.
func callsOf(out []Output) (names []string) {
	for _, o := range out {
		if call, ok := o.(protocol.ToolCall); ok && call.SessionUpdate == "tool_call" {
			names = append(names, string(call.Name))
		}
	}
	return names
}

// The announcement of a call has droid's name of the tool: live, in a history, and for an unreadable task list that is shown as a call.
// Updates do not repeat it. A command of the user is not a tool of droid.
func TestNameOfTool(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	input := json.RawMessage(`{"file_path":"/x/a.txt"}`)
	out := d.Event(d.moment(), quirks.ToolStarted{ID: "t", Name: "Read", Input: json.RawMessage(`{}`)}, nil)
	out = append(out, d.Event(d.moment(), quirks.ToolInput{ID: "t", Name: "Read", Input: input}, nil)...)
	require.Equal(t, []string{"Read"}, callsOf(out))
	out = d.Event(d.moment(), quirks.ToolRunning{ID: "t"}, nil)
	require.Empty(t, out[0].(protocol.ToolCall).Name)

	past := d.History(d.moment(), quirks.ToolStarted{ID: "p", Name: "mcp___files___read", Input: input})
	require.Equal(t, []string{"mcp___files___read"}, callsOf(past))

	d.Event(d.moment(), quirks.ToolStarted{ID: "n", Name: "TodoWrite", Input: json.RawMessage(`{"todos":7}`)}, nil)
	require.Equal(t, []string{"TodoWrite"}, callsOf(d.Event(d.moment(), quirks.ToolEnded{ID: "n", Name: "TodoWrite"}, nil)))

	_, begun := d.UserCommand(d.moment(), "make")
	require.Equal(t, []string{""}, callsOf(begun))
}
