package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/adapter/turns"
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

// unlocked releases the lock while f runs, which may block, and returns when f has. f's context ends with ctx and with the session, which
// waits for f before it ends.
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

// A waiter in a session names what it needs, and proceeds when that is there: whoever releases the session's lock looks which waiter may.
// The turn machine knows what a prompt waits for before it runs.

// need is a condition for waitFor, in words for the user; satisfied evaluates it.
type need string

// What there is to wait for.
const (
	needStart need = "droid to start"
	needGone  need = "the droid before to be gone"
	// Changes of settings, loads and forks take this one at a time: they must not overlap, since the answer to a load contains the
	// settings, too. While one runs, the process is neither parked nor replaced by a load, and no prompt begins.
	needCalls   need = "calls to droid before it" // see turns.Machine.RPC
	needQuiet   need = "the prompt that runs"
	needServers need = "MCP servers to start"
	needShown   need = "the editor to show the session"
	needRead    need = "files that are shown with what droid said"
	needOthers  need = "a look whether another window has the session open"
	needAnswers need = "droid to list its commands and tell its use of the context"
)

// What is waited for with a condition of its own, in words for the user.
const (
	untilRoom      = "the editor to read"
	untilTurn      = "its turn"
	untilTitle     = "the title before it" // of two titles at once droid stores the later one twice, and within a rewind it is not known which session gets one (0.225.2)
	untilAnnounced = "droid to announce the call"
	untilAddress   = "droid to tell where to log in"
	untilExplained = "what droid said of MCP servers before"
	untilMode      = "the mode of the answer before it"
)

// satisfied reports whether a need is met.
func (s *Session) satisfied(n need) bool {
	switch {
	case n == needStart:
		return !s.proc.Starting()
	case n == needGone:
		return s.ended || !s.proc.Ending()
	case s.ended:
		return false // nothing begins
	case n == needCalls:
		return s.prompts.RPC.Holder() == nil
	case n == needQuiet:
		return !s.prompts.RunsOne()
	case n == needShown:
		return s.isShown()
	case n == needOthers:
		_, known := s.storeLock.Others()
		return known
	case n == needRead:
		return s.held == nil
	case n == needAnswers:
		return !s.proc.HasQueries()
	case n == needServers:
		return !s.servers.Starting()
	}
	return false
}

// waits lists who waits in the session, for what and since when, and which prompts.
func (s *Session) waits(now time.Time) []string {
	lines := append([]string{}, s.deps.Sessions.Waits(s.out.Session(), now)...)
	for _, l := range []*turns.Lock{&s.prompts.RPC, &s.titles, &s.explains} {
		if t := l.Holder(); t != nil {
			lines = append(lines, fmt.Sprintf("%s is under way, asked for %v ago", t.Who, now.Sub(t.Since).Round(time.Second)))
		}
	}
	for _, w := range s.mu.Waits() {
		lines = append(lines, fmt.Sprintf("%s waits for %s since %v", w.Who, w.What, now.Sub(w.Since).Round(time.Second)))
	}
	lines = append(lines, s.out.Requests(now)...)
	switch {
	case s.prompts.Sending():
		lines = append(lines, "droid has not accepted the prompt")
	case s.prompts.Stopping():
		lines = append(lines, "the prompt was cancelled, and droid has not ended it")
	}
	if n := s.prompts.Changing(turns.General); n > 0 {
		lines = append(lines, fmt.Sprintf("changes that are under way or wait for their turn: %d", n))
	}
	if n := s.prompts.Waiting(); n > 0 {
		lines = append(lines, fmt.Sprintf("prompts that wait for their turn: %d", n))
	}
	return lines
}

// waitFor waits until all needs are met. who names the waiter for the user. The error says that ctx or the session has ended.
func (s *Session) waitFor(ctx context.Context, who string, needs ...need) *jsonrpc.Error {
	lacks := func(n need) bool { return !s.satisfied(n) }
	for {
		n := needs[max(slices.IndexFunc(needs, lacks), 0)]
		err := s.mu.WaitFor(ctx, who, string(n), func() bool { return s.satisfied(n) })
		if err != nil || !slices.ContainsFunc(needs, lacks) {
			return s.waitError(err)
		}
	}
}

// take takes a lock for who until release is called, also while the session's lock is given up. After an error there is nothing to release.
func (s *Session) take(ctx context.Context, l *turns.Lock, who, what string) (release func(), err *jsonrpc.Error) {
	me, taken := &turns.Taker{Who: who, Since: time.Now()}, false
	l.Take(me)
	release = func() { l.Release(me) }
	defer func() {
		if !taken { // also after a panic
			release()
		}
	}()
	err = s.waitError(s.mu.WaitFor(ctx, who, what, func() bool { return l.Holder() == me }))
	taken = err == nil
	return release, err
}

// lockRPC takes the lock of calls to droid until release is called.
func (s *Session) lockRPC(ctx context.Context) (release func(), err *jsonrpc.Error) {
	return s.take(ctx, &s.prompts.RPC, "a call to droid", string(needCalls))
}

// waitError answers what does not wait any longer.
func (s *Session) waitError(why error) *jsonrpc.Error {
	switch {
	case why == nil:
		return nil
	case s.ended || s.Context.Err() != nil:
		return s.EndError()
	}
	return acperr.Cancelled()
}

// pausePrompts keeps prompts from starting while droid's end is awaited, and lets them start afterwards. The Monitor calls it before each
// release of the lock, but one to a lender.
func (s *Session) pausePrompts() { s.prompts.SetPaused(s.proc.Ending()) }

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

// A panic in this program costs one session its turn and its process, and the user reads so. All other sessions continue, and every pending
// request is answered.

// panicked ends the turn and the process of a session in which something panicked, each step also where the one before panics. The caller
// has the session's lock.
func (s *Session) panicked(p any) {
	s.logPanic("panic", p)
	report, err := fmt.Sprintf("droid-acp itself failed: %v\n%s", p, debug.Stack()), acperr.Panicked(p)
	for _, step := range []func(){
		func() { s.reportFault(report) },
		func() { s.endDroid(killed, "droid-acp itself failed") },
		func() { s.loseChanges(err) }, // before a command that makes one ends, and with it what was meant for that
		func() { s.prompts.FailRunning(err) },
		func() { s.loseLoads(err) },
	} {
		s.afterPanic(step)
	}
}

// afterPanic calls f, whose panic ends nothing else.
func (s *Session) afterPanic(f func()) {
	defer func() {
		if again := recover(); again != nil {
			s.logPanic("panic after a panic", again)
		}
	}()
	f()
}

func (s *Session) logPanic(text string, p any) {
	s.log.Error(text, zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
}
