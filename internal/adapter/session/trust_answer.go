package session

import (
	"context"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/workspace/trust"
)

// AnswerTrust lets what the project brings run ("yes"), takes that back ("no"), or shows it (""), and returns the text for the user.
// "yes" covers what the user had been shown when they sent it.
func (s *Session) AnswerTrust(ctx context.Context, word string) (text string, err error) {
	keeper, cwd := s.deps.Config.Trust, s.cwd
	shown := s.shown.sums
	if r := commandFrom(ctx); r != nil && s.shown.to >= r.prompt.id {
		shown = nil
	}
	acting := ctx
	if word != "" {
		acting = s.uncancellable(ctx) // what is being stored is not taken back by a cancel
	}
	var answer trust.Answer
	var takes func(projectconfig.Layer) projectconfig.Layer
	if client := s.proc.Client(); client != nil {
		takes = client.Relevant
	}
	err = s.callBounded(acting, func(ctx context.Context) (err error) {
		answer, err = files.CallBounded(ctx, s.deps.Calls, "Trust", cwd, func(cwd string) (trust.Answer, error) { return keeper.Answer(cwd, word, shown, takes) })
		return err
	})
	if err != nil {
		return "", err
	}
	if word == "no" {
		s.declined = nil // a user who takes the answer back is asked again
	}
	if answer.Shows && acting.Err() == nil {
		s.showed(answer.Project)
	}
	if answer.Changed && acting.Err() == nil {
		s.endDroid(replaced, "the user has answered whether the project is trusted")
	}
	return answer.Text, nil
}
