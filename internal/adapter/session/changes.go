package session

import (
	"context"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/jsonrpc"
)

// beginChange waits until a change that the user has requested may be made, in the order of the requests. The caller must call
// s.prompts.FinishChange when it has taken effect. If ctx ends first, the change is withdrawn.
func (s *Session) beginChange(ctx context.Context, of turns.Scope) (*turns.Change, *jsonrpc.Error) {
	if err := s.checkOpen(); err != nil {
		return nil, err
	}
	change := s.prompts.Change(of)
	err := s.mu.WaitFor(ctx, "what was asked", untilTurn, func() bool { return change.Begun() || !s.prompts.Pending(change) })
	if err == nil {
		err = context.Cause(ctx) // it may have been cancelled as it began
	}
	switch {
	case err != nil:
		s.prompts.FinishChange(change, nil)
		return nil, s.waitError(err)
	case !change.Begun(): // a panic has ended everything that waited
		return nil, acperr.Lost()
	}
	if err := s.checkOpen(); err != nil { // the load before it failed
		s.prompts.FinishChange(change, nil)
		return nil, err
	}
	return change, nil
}

// checkOpen returns an error if the session accepts no more requests.
func (s *Session) checkOpen() *jsonrpc.Error {
	if err := s.unfit.Load(); err != nil {
		return err
	}
	if s.ended {
		return s.EndError()
	}
	return nil
}
