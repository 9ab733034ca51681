package adapter

import (
	"encoding/json"
	"strings"
	"time"

	"droid-acp/internal/markdown"
	"droid-acp/internal/protocol"
	"droid-acp/internal/shell"
)

// A prompt "!command" or "/shell command" is the user's own action, where
// Config.Shell allows it: nobody is asked, and the model does not see it before
// the next prompt.

// commandShell is the name of the slash command that runs a shell command.
const commandShell = "shell"

// bangCommand returns the command of a prompt "!command", "" for all others.
func (s *Session) bangCommand(text string) string {
	command, ok := strings.CutPrefix(strings.TrimSpace(text), "!")
	if !ok || !s.agent.cfg.Shell {
		return ""
	}
	return strings.TrimSpace(command)
}

// shellRun is one shell command of the user.
type shellRun struct {
	id, command string
	output      *shell.Output
	shown       strings.Builder // the owner's: all that was shown
}

// shellWrote shows what the command has written.
func (s *Session) shellWrote(run *shellRun, piece string) {
	c := s.views.get(run.id).command
	if piece == "" || c == nil {
		return
	}
	run.shown.WriteString(piece)
	if s.agent.client.TerminalOutput {
		s.terminalOutput(run.id, piece)
		return
	}
	c.output.add(piece)
	c.dirty = true
	s.flushCommand(run.id, c, time.Now())
}

// shellEnded ends the tool call and the prompt.
func (s *Session) shellEnded(r *commandRun, run *shellRun, end shell.End) {
	s.shellWrote(run, run.output.Rest())
	text := run.shown.String()
	delete(s.tools, run.id)
	s.views.remove(run.id)
	s.send(s.shellResult(run.id, text, end))
	s.shellNotes = append(s.shellNotes, shell.Note(run.command, text, end))
	r.done()
}

// shellResult is the last update of the command's tool call. text is all that the
// command wrote.
func (s *Session) shellResult(id, text string, end shell.End) protocol.ToolCall {
	update := protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: id, Status: protocol.StatusFailed}
	if end.Succeeded() {
		update.Status = protocol.StatusCompleted
	}
	update.RawOutput, _ = json.Marshal(struct { // an int and a string always encode
		ExitCode *int   `json:"exitCode"`
		Note     string `json:"note,omitempty"`
	}{end.ExitCode, end.Note})
	switch {
	case s.agent.client.TerminalOutput:
		update.Meta = &protocol.ToolMeta{TerminalExit: &protocol.TerminalExit{TerminalID: id, ExitCode: end.ExitCode}}
		update.Content = append([]protocol.ToolContent{protocol.TerminalContent(id)}, notes(end.Note)...)
	case strings.TrimSpace(text) != "":
		update.Content = []protocol.ToolContent{protocol.TextContent(markdown.Fenced("console", text)), protocol.TextContent(end.String())}
	default:
		update.Content = notes(end.String())
	}
	return update
}

// addShellNotes puts what the user ran before a prompt. A command that droid
// expands must begin the message: the notes wait for the prompt after it.
func (s *Session) addShellNotes(t *userPrompt) {
	if len(s.shellNotes) == 0 {
		return
	}
	name, _, _ := splitCommand(t.message.Text)
	if s.commands.has(name) {
		return
	}
	t.notes, s.shellNotes = s.shellNotes, nil
	t.message.Text = strings.Join(t.notes, "") + t.message.Text
}

// keepShellNotes keeps the notes of a prompt that droid did not take for the
// next one.
func (s *Session) keepShellNotes(t *userPrompt) {
	if t != nil {
		s.shellNotes = append(t.notes, s.shellNotes...)
		t.notes = nil
	}
}
