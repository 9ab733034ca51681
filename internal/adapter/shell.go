package adapter

import (
	"strings"

	"droid-acp/internal/shell"
	"droid-acp/internal/show"
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
	command string
	output  *shell.Output
	shown   *show.UserCommand // the owner's
}

// shellWrote shows what the command has written.
func (s *Session) shellWrote(run *shellRun, piece string) {
	s.put(run.shown.Wrote(s.moment(), piece))
}

// shellEnded ends the tool call and the prompt.
func (s *Session) shellEnded(r *commandRun, run *shellRun, end shell.End) {
	s.shellWrote(run, run.output.Rest())
	s.put(run.shown.Ended(end.ExitCode, end.Note))
	s.shellNotes = append(s.shellNotes, shell.Note(run.command, run.shown.Written(), end))
	r.done()
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
