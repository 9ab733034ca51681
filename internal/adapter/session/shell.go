package session

import (
	"context"
	"strings"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/adapter/internal/shell"
)

// A prompt "!command" or "/shell command" is the user's own action, if Config.Shell allows it: it needs no permission, and the model sees
// it with the next prompt.

// ShellCommand is the name of the slash command that runs a shell command.
const ShellCommand = "shell"

// addShellNotes puts the notes of the user's shell commands in front of a prompt, behind
// those that it had when it was sent before. If the prompt is a command that droid expands,
// it must begin the message, so the notes wait for the prompt after it.
func (p *userPrompt) addShellNotes() {
	s := p.s
	if name, _, _ := commands.Split(p.message.Text); s.commands.Has(name) {
		return
	}
	p.notes, s.shellNotes = append(p.notes, s.shellNotes...), nil
	p.message.Text = strings.Join(p.notes, "") + p.message.Text
}

// keepShellNotes takes the notes out of a prompt that droid did not take, and keeps
// them for the next prompt.
func (p *userPrompt) keepShellNotes() {
	p.s.shellNotes, p.notes = append(p.notes, p.s.shellNotes...), nil
}

// RunShell runs a command of the user and shows it as a tool call. It returns when the command has ended; the end of ctx stops it.
func (s *Session) RunShell(ctx context.Context, command string) {
	cwd := s.cwd
	shown, begun := s.show.UserCommand(s.moment(), command)
	wrote := func(piece string) { s.update(shown.Output(s.moment(), piece)...) }
	var output *shell.Output
	output = shell.NewOutput(func() { s.mu.Post(func() { wrote(output.Take()) }) })
	s.update(begun...)
	var end shell.End
	s.unlocked(ctx, func(ctx context.Context) { end = shell.Run(ctx, cwd, command, output) })
	wrote(output.Rest())
	s.update(shown.Ended(end.ExitCode, end.Note)...)
	s.shellNotes = append(s.shellNotes, shell.Note(command, shown.AllOutput(), end))
	if r := commandFrom(ctx); r != nil && (end.ExitCode == nil || *end.ExitCode != 0) {
		r.prompt.failed = acperr.CommandFailed(end.String() + ".")
	}
}
