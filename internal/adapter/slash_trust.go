package adapter

import (
	"context"
	"path/filepath"
	"strings"

	"droid-acp/internal/paths"
	"droid-acp/internal/trust"
)

// trustCommand shows what the project brings to run, lets it run, or takes that back.
func trustCommand(r *slashRun, args string) {
	keeper, cwd := r.s.agent.cfg.Trust, r.s.cwd
	word := strings.ToLower(strings.TrimSpace(args))
	var said trust.Answer
	r.beside(openTime, errOpenTime, func(ctx context.Context) (err error) {
		said, err = bounded(ctx, r.s.agent, "Trust", cwd, func(cwd string) (trust.Answer, error) { return keeper.Answer(cwd, word) })
		return err
	}, func(err error) {
		if err != nil {
			r.fail("It was not kept", err)
			return
		}
		if client := r.s.proc.client(); said.Changed && client != nil && !r.over() {
			r.s.leave() // the next prompt starts a process that is as the answer says
		}
		r.reply(said.Text)
	})
}

// programName is the name of a command by its file: without the ending and the directory.
func programName(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// trustLine is the command that lets a project run what it brings.
func trustLine(root string) string { return "droid-acp trust --yes " + paths.Word(root) }
