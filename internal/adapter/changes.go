package adapter

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/problem"
	"droid-acp/internal/adapter/turns"
)

// change returns when the turn has come of what the user asks now beside prompts. s.prompts.Changed must be called when it has its
// effect. While it waits, the end of ctx takes it back.
func (s *Session) change(ctx context.Context, t *owner.Task, of turns.Sphere) (*turns.Change, *acp.RequestError) {
	if err := s.takesNothing(); err != nil {
		return nil, err
	}
	its := s.prompts.Change(of)
	err := s.line.UntilReady(ctx, t, "what was asked", needTurn, func() bool { return its.Begun() || !s.prompts.Takes(its) })
	if err == nil {
		err = context.Cause(ctx) // it may have been cancelled as its turn came
	}
	switch {
	case err != nil:
		s.prompts.Changed(its, nil)
		return nil, s.notWaited(err)
	case !its.Begun(): // a panic has ended all that waits
		return nil, problem.Lost()
	}
	if err := s.takesNothing(); err != nil { // the load before it failed
		s.prompts.Changed(its, nil)
		return nil, err
	}
	return its, nil
}

// takesNothing is why the session takes no request any more, nil when it does.
func (s *Session) takesNothing() *acp.RequestError {
	if err := s.Refusal(); err != nil {
		return err
	}
	if s.ended {
		return s.EndError()
	}
	return nil
}
