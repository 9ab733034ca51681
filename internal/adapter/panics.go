package adapter

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"
)

// A mistake in this program that panics costs one session its turn and its
// process, with a word to the user. All other sessions go on, and whoever waits
// for an answer gets one.

// guard runs f in the owner.
func (s *Session) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic("panic in a session", p)
			s.lose(p)
		}
	}()
	f()
}

// besidePanicked is deferred in a goroutine beside the owner. A panic there is
// the owner's to deal with; failed is done after.
func (s *Session) besidePanicked(failed []func()) {
	p := recover()
	if p == nil {
		return
	}
	s.logPanic("panic beside a session", p)
	s.post(func() {
		s.lose(p)
		for _, f := range failed {
			s.guard(f)
		}
	})
}

// lose ends the turn and the process of a session in which something panicked.
func (s *Session) lose(p any) {
	defer s.panics.ring()
	defer func() {
		if again := recover(); again != nil { // what panics is the ending itself
			s.logPanic("panic after a panic in a session", again)
		}
	}()
	s.proc.doom("droid-acp itself failed")
	s.failTurn(panicError(p))
	s.endReplay(panicError(p))
}

func (s *Session) logPanic(text string, p any) {
	s.log.Error(text, zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
}

// errPanic is why a process was not started.
var errPanic = errors.New("droid-acp failed; the details are in its log")

func panicError(p any) *acp.RequestError {
	return internalError("internal_error", fmt.Sprintf("droid-acp failed: %v. The details are in its log; please report this.", p))
}

// alarm tells those who wait for a session of a panic in it: what they wait for
// may be lost.
type alarm struct {
	mu   sync.Mutex
	next chan struct{}
}

// listen returns a channel that is closed with the next panic.
func (a *alarm) listen() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == nil {
		a.next = make(chan struct{})
	}
	return a.next
}

func (a *alarm) ring() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next != nil {
		close(a.next)
		a.next = nil
	}
}

// promise is an answer that a handler waits for and the owner gives. It is made
// before the owner is asked.
type promise[T any] struct {
	given chan T
	lost  <-chan struct{} // closed by a panic
	over  <-chan struct{} // closed when the session has ended
}

func promised[T any](s *Session) promise[T] {
	return promise[T]{make(chan T, 1), s.panics.listen(), s.over}
}

// give gives the answer. Only the first counts.
func (p promise[T]) give(v T) {
	select {
	case p.given <- v:
	default:
	}
}

// wait returns the answer, or why there will be none.
func (p promise[T]) wait() (v T, err *acp.RequestError) {
	err = errEnding()
	select {
	case v = <-p.given:
		return v, nil
	case <-p.lost:
		err = errLost()
	case <-p.over:
	}
	select {
	case v = <-p.given: // it came in the same moment
		return v, nil
	default:
		return v, err
	}
}

// errLost answers what a panic took along.
func errLost() *acp.RequestError {
	return internalError("internal_error", "droid-acp failed while the session worked on this. The details are in its log; please report this.")
}

// endOf waits for the one ending of a prompt. After a panic it asks whether the
// session still has the prompt. lost was listened to before the prompt was posted.
func (s *Session) endOf(t *turn, lost <-chan struct{}) ending {
	for {
		select {
		case end := <-t.done:
			return end
		case <-lost:
			lost = s.panics.listen()
			s.post(func() { s.findLost(t) })
		case <-s.over:
			select {
			case end := <-t.done:
				return end
			default:
				return ending{err: errEnding()}
			}
		}
	}
}

// findLost ends a prompt that nobody would end any more.
func (s *Session) findLost(t *turn) {
	if s.has(t) {
		return
	}
	select {
	case t.done <- ending{err: errLost()}:
	default: // it has an ending
	}
}

// has reports whether a prompt runs or waits.
func (s *Session) has(t *turn) bool {
	return s.turn == t || slices.Contains(s.queue, t) || slices.Contains(s.steered, t)
}
