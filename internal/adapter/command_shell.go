package adapter

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"droid-acp/internal/quirks"
	"droid-acp/internal/shell"
)

// shellCommand runs a command of the user beside the owner, as a tool call. A
// cancel stops the command, whose end is then the prompt's.
func shellCommand(r *commandRun, command string) {
	if command == "" {
		r.reply("Say the command, too: `/shell git status`.")
		return
	}
	s := r.s
	run := &shellRun{id: uuid.NewString(), command: command}
	run.output = shell.NewOutput(func() { s.post(func() { s.shellWrote(run, run.output.Take()) }) })
	ctx, stop := context.WithCancel(s.ctx)
	r.stopWith(stop)
	input, _ := json.Marshal(map[string]string{"command": command}) // strings always encode
	s.translate(quirks.ToolStarted{ID: run.id, Name: "Execute", Input: input})
	s.translate(quirks.ToolRunning{ID: run.id})
	cwd := s.cwd
	s.do(func(context.Context) {
		defer stop()
		end := shell.Run(ctx, cwd, command, run.output)
		s.post(func() { s.shellEnded(r, run, end) })
	})
}
