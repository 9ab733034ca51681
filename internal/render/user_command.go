package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/markdown"
)

// UserCommand is a shell command that the user runs, shown as a tool call.
type UserCommand struct {
	command *commandView
	written strings.Builder
}

// UserCommand shows the start of a user's command.
func (v *View) UserCommand(m Moment, line string) (*UserCommand, []Output) {
	id := v.newID()
	input, _ := json.Marshal(map[string]string{"command": line}) // strings always encode
	out := v.Event(m, quirks.ToolStarted{ID: id, Name: "Execute", Input: input}, nil)
	u := &UserCommand{command: v.calls[id].(*commandView)}
	return u, nameless(append(out, v.Event(m, quirks.ToolRunning{ID: id}, nil)...))
}

// nameless removes tool names, since the command is not a tool of droid.
func nameless(out []Output) []Output {
	for i := range out {
		if call, ok := out[i].(protocol.ToolCall); ok {
			call.Name = ""
			out[i] = call
		}
	}
	return out
}

// Output shows new output of the command.
func (u *UserCommand) Output(m Moment, piece string) []Output {
	v := u.command.v
	if piece == "" || v.calls[u.command.id] == nil {
		return nil
	}
	u.written.WriteString(piece)
	u.command.wrote(m, piece)
	return v.take()
}

// AllOutput returns all output passed to Output.
func (u *UserCommand) AllOutput() string { return u.written.String() }

// Ended shows the end of the command: its exit code, or note if that is nil.
func (u *UserCommand) Ended(exitCode *int, note string) []Output {
	c := u.command
	update := protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: c.id, Status: protocol.StatusFailed}
	how := note
	if exitCode != nil {
		how = fmt.Sprintf("Exit code %d", *exitCode)
		if *exitCode == 0 {
			update.Status = protocol.StatusCompleted
		}
	}
	update.RawOutput, _ = json.Marshal(struct { // an int and a string always encode
		ExitCode *int   `json:"exitCode"`
		Note     string `json:"note,omitempty"`
	}{exitCode, note})
	switch text := u.AllOutput(); {
	case c.v.client.TerminalOutput:
		update.Meta = &protocol.ToolMeta{TerminalExit: &protocol.TerminalExit{TerminalID: c.id, ExitCode: exitCode}}
		update.Content = append([]protocol.ToolContent{protocol.TerminalContent(c.id)}, textContent(note)...)
	case strings.TrimSpace(text) != "":
		update.Content = []protocol.ToolContent{protocol.TextContent(markdown.Fenced("console", text)), protocol.TextContent(how)}
	default:
		update.Content = textContent(how)
	}
	delete(c.v.calls, c.id)
	c.v.send(update)
	return c.v.take()
}
