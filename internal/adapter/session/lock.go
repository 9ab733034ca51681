package session

import (
	"cmp"
	"context"
	"errors"
	"time"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/jsonrpc"
)

// Enter gets the session's lock for a request, after those that asked for it before. ordered, if not nil, is called as soon as the request is
// in that order, so that the next one may follow. A deferred Exit follows. The error says why the session takes no requests any more; then
// there is nothing to release.
func (s *Session) Enter(ordered func()) *jsonrpc.Error {
	lock := s.mu.Reserve()
	if ordered != nil {
		ordered()
	}
	if lock == nil {
		return s.EndError()
	}
	lock()
	return nil
}

// Exit is deferred by a request that has the lock, and gives that up. A panic of the request is its error.
func (s *Session) Exit(err **jsonrpc.Error) {
	if p := recover(); p != nil {
		*err = acperr.Lost()
		s.panicked(p)
	}
	s.mu.Unlock()
}

// unlocked releases the lock while f runs, which may block. f's context ends with ctx and with the session, which waits for f before it ends.
func (s *Session) unlocked(ctx context.Context, f func(ctx context.Context)) {
	s.unlockedAs(ctx, "", "", f)
}

// unlockedAs is unlocked; while it runs, /status shows who waits for what.
func (s *Session) unlockedAs(ctx context.Context, who, what string, f func(ctx context.Context)) {
	s.mu.Unlocked(who, what, func() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.Context, cancel)()
		f(ctx)
	})
}

// unlockedFor is unlocked for a call that may take so long, and that fails.
func (s *Session) unlockedFor(ctx context.Context, limit time.Duration, f func(ctx context.Context) error) (err error) {
	s.unlocked(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err = f(ctx)
	})
	return err
}

// async runs f in another goroutine, without the lock. f's context ends with the session, which waits for f before it ends.
func (s *Session) async(f func(ctx context.Context)) { s.mu.Go(func() { s.unlocked(s.Context, f) }) }

// EndError returns the error for requests to a session that has ended or is ending.
func (s *Session) EndError() *jsonrpc.Error { return cmp.Or(s.unfit.Load(), acperr.Ending()) }

// Ticket is a request's position in the queue of all requests that name a session.
type Ticket = registry.Ticket[*Session]

// TicketError converts an error of Ticket.Lock for the client.
func TicketError(err error) *jsonrpc.Error {
	switch {
	case errors.Is(err, registry.ErrCancelled):
		return acperr.Cancelled()
	case err != nil:
		return acperr.Ending()
	}
	return nil
}
