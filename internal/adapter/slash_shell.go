package adapter

import (
	"context"

	"droid-acp/internal/shell"
)

// shellCommand runs a command of the user beside the owner, and shows it as a tool
// call. A cancel stops the command; the prompt ends when the command has.
func shellCommand(r *slashRun, command string) {
	if command == "" {
		r.reply("Give a command: `/shell git status`.")
		return
	}
	s := r.s
	run := &shellRun{command: command}
	run.output = shell.NewOutput(func() { s.Post(func() { s.shellWrote(run, run.output.Take()) }) })
	ctx, stop := context.WithCancel(s.Context)
	r.stopWith(stop)
	shown, begun := s.show.UserCommand(s.moment(), command)
	run.shown = shown
	s.tell(begun...)
	cwd := s.cwd
	s.Do(func(context.Context) {
		defer stop()
		end := shell.Run(ctx, cwd, command, run.output)
		s.Post(func() { s.shellEnded(r, run, end) })
	})
}
