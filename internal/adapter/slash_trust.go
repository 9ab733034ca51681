package adapter

import (
	"context"
	"strings"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/workspace/trust"
)

// trustCommand shows what the project brings to run, lets it run, or takes that back.
func trustCommand(r *commandRun, args string) {
	keeper, cwd := r.s.agent.cfg.Trust, r.s.cwd
	word := strings.ToLower(strings.TrimSpace(args))
	if word != "" {
		r.keep() // what is being stored is not taken back by a cancel
	}
	var answer trust.Answer
	shown := r.shown()
	var takes func(projectconfig.Layer) projectconfig.Layer
	if client := r.s.proc.Client(); client != nil {
		takes = client.Relevant
	}
	err := r.unlocked(func(ctx context.Context) (err error) {
		answer, err = files.CallBounded(ctx, r.s.agent.calls, "Trust", cwd, func(cwd string) (trust.Answer, error) { return keeper.Answer(cwd, word, shown, takes) })
		return err
	})
	if err != nil {
		r.fail("It was not kept", err)
		return
	}
	if word == "no" {
		r.s.declined = nil // whoever takes back what they said is asked again
	}
	if answer.Shows && !r.over() {
		r.s.showed(answer.Project)
	}
	if answer.Changed && !r.over() {
		r.s.endDroid(replaced, "the user has answered whether the project is trusted")
	}
	r.reply(answer.Text)
}
