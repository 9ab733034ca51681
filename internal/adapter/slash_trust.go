package adapter

import (
	"context"
	"strings"

	"droid-acp/internal/adapter/opening"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/workspace/trust"
)

// trustCommand shows what the project brings to run, lets it run, or takes that back.
func trustCommand(r *slashRun, args string) {
	keeper, cwd := r.s.agent.cfg.Trust, r.s.cwd
	word := strings.ToLower(strings.TrimSpace(args))
	var answer trust.Answer
	r.beside(opening.Time, opening.ErrTime, func(ctx context.Context) (err error) {
		answer, err = files.Within(ctx, r.s.agent.calls, "Trust", cwd, func(cwd string) (trust.Answer, error) { return keeper.Answer(cwd, word) })
		return err
	}, func(err error) {
		if err != nil {
			r.fail("It was not kept", err)
			return
		}
		if client := r.s.proc.Client(); answer.Changed && client != nil && !r.over() {
			r.s.retireDroid() // the next prompt starts a process that is as the answer says
		}
		r.reply(answer.Text)
	})
}
