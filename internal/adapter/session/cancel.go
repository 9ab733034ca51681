package session

import (
	"context"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
)

// Cancel cancels the running prompt and all waiting ones. It does not wait. It does nothing if the session has ended.
func (s *Session) Cancel() { s.mu.Post(s.cancelPrompts) }

// cancelPrompts cancels the running prompt and all waiting ones. If none runs, it stops what droid does by itself.
func (s *Session) cancelPrompts() {
	s.prompts.Cancel(time.Now())
	if s.proc.Working() {
		s.prompts.StopUnprompted()
	}
}

// cancelIfLate cancels the prompts if a cancel came while this one was on its way to the session. It reaches no later prompt: those
// get the lock after its caller, which has not given it up.
func (s *Session) cancelIfLate(p *Ticket) {
	if p.WasCancelled() {
		s.cancelPrompts()
	}
}

// interruptTime bounds the wait for droid's answer to an interrupt, which came within
// 0.14 s on a busy machine.
const interruptTime = 2 * time.Second

// interrupt asks droid to stop.
func (s *Session) interrupt() {
	s.mu.Go(func() {
		defer func() { s.prompts.InterruptDone() }() // also after a panic: prompts wait for it
		s.readNoMore()                               // the end of the turn is not held back
		s.apply(s.proc.Normalizer().Interrupted(time.Now()))
		client := s.proc.Client()
		if client == nil {
			return
		}
		if err := s.unlockedFor(s.Context, interruptTime, client.Interrupt); err != nil {
			s.log.Debug("interrupt", zap.Error(err))
		}
	})
}

// withdraw asks droid for a message that the user cancelled before droid began with it. A droid that gives none back
// ends it as cancelled when its turn comes.
func (s *Session) withdraw(request string) {
	if !s.proc.Supports(stream.WithdrawsMessages) {
		return
	}
	s.mu.Go(func() {
		client := s.proc.Client()
		if client == nil {
			return // droid has died, and the prompt ends with that
		}
		if err := s.unlockedFor(s.Context, interruptTime, func(ctx context.Context) error { return client.WithdrawMessage(ctx, request) }); err != nil {
			s.log.Debug("taking a message back", zap.Error(err))
			return
		}
		_ = s.syncEvents(s.Context) // that droid works on it comes before the answer
		s.prompts.Withdrawn(request)
	})
}
