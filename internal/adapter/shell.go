package adapter

import (
	"strings"

	"droid-acp/internal/commands"
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
	shown   *show.UserCommand // touched by the owner alone
}

// shellWrote shows what the command has written.
func (s *Session) shellWrote(run *shellRun, piece string) {
	s.tell(run.shown.Wrote(s.moment(), piece)...)
}

// shellEnded ends the tool call and the prompt.
func (s *Session) shellEnded(r *slashRun, run *shellRun, end shell.End) {
	s.shellWrote(run, run.output.Rest())
	s.tell(run.shown.Ended(end.ExitCode, end.Note)...)
	s.shellNotes.Add(shell.Note(run.command, run.shown.Written(), end))
	r.done()
}

// addShellNotes puts the notes of the user's shell commands in front of a prompt, behind
// those that it had when it was sent before. If the prompt is a command that droid expands,
// it must begin the message, so the notes wait for the prompt after it.
func (s *Session) addShellNotes(p *userPrompt) {
	if name, _, _ := commands.Split(p.message.Text); s.commands.Has(name) {
		return
	}
	p.notes = append(p.notes, s.shellNotes.Take()...)
	p.message.Text = strings.Join(p.notes, "") + p.message.Text
}

// keepShellNotes takes the notes out of a prompt that droid did not take, and keeps
// them for the next prompt.
func (s *Session) keepShellNotes(p *userPrompt) {
	s.shellNotes.PutBack(p.notes)
	p.notes = nil
}
