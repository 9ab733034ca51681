package adapter

import (
	"context"

	"droid-acp/internal/adapter/internal/shell"
)

// shellCommand runs a command of the user without the lock, and shows it as a tool
// call. A cancel stops the command; the prompt ends when the command has.
func shellCommand(r *commandRun, command string) {
	if command == "" {
		r.reply("Give a command: `/shell git status`.")
		return
	}
	s, cwd := r.s, r.s.cwd
	shown, begun := s.show.UserCommand(s.moment(), command)
	wrote := func(piece string) { s.update(shown.Output(s.moment(), piece)...) }
	var output *shell.Output
	output = shell.NewOutput(func() { s.mu.Post(func() { wrote(output.Take()) }) })
	ctx, stop := context.WithCancel(s.Context)
	defer stop()
	r.stop = stop // a cancel does that, and the prompt ends when the command has
	s.update(begun...)
	var end shell.End
	r.s.unlocked(r.s.Context, func(context.Context) { end = shell.Run(ctx, cwd, command, output) })
	wrote(output.Rest())
	s.update(shown.Ended(end.ExitCode, end.Note)...)
	s.shellNotes = append(s.shellNotes, shell.Note(command, shown.AllOutput(), end))
	r.done()
}
