package adapter

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/problem"
	"droid-acp/internal/adapter/turns"
)

// change is what the user asks of the session beside prompts, whose turn has come; see turns.Change.
type change struct {
	s    *Session
	turn *turns.Change
}

// change returns when the turn has come of what is asked now. end must be called when it has its
// effect. While it waits, the end of ctx takes it back.
func (s *Session) change(ctx context.Context, t *owner.Task, of turns.Sphere) (*change, *acp.RequestError) {
	if err := s.takesNothing(); err != nil {
		return nil, err
	}
	c := s.prompts.Change(of)
	its := &change{s, c}
	err := s.line.UntilReady(ctx, t, "what was asked", needTurn, func() bool { return c.Begun() || !s.prompts.Takes(c) })
	if err == nil {
		err = context.Cause(ctx) // it may have been cancelled as its turn came
	}
	switch {
	case err != nil:
		its.end(nil)
		return nil, s.notWaited(err)
	case !c.Begun(): // a panic has ended all that waits
		return nil, problem.Lost()
	}
	if err := s.takesNothing(); err != nil { // the load before it failed
		its.end(nil)
		return nil, err
	}
	return its, nil
}

// end ends the turn. why is nil, or why the prompts that were meant for what was asked must not be
// sent.
func (c *change) end(why error) { c.s.prompts.Changed(c.turn, why) }

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
