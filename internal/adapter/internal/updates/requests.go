package updates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"droid-acp/internal/acp/wire"
)

// PendingRequest is a request of the session to its editor that has no answer yet.
type PendingRequest struct {
	sender  *Sender
	method  string
	since   time.Time
	pending *wire.Pending
}

// ErrWithdrawn reports that a request was withdrawn before its answer.
var ErrWithdrawn = errors.New("the request was taken back")

// Request is a PendingRequest whose waiter holds the session's lock.
type Request[T any] struct {
	*PendingRequest
	result T
	err    error
	ended  bool // has an answer, or was withdrawn
}

// SendRequest sends a request to the editor. Await returns the answer.
func SendRequest[T any](s *Sender, method string, params any) *Request[T] {
	r := new(Request[T])
	r.PendingRequest = ask(s, method, params, func(q *PendingRequest, result T, err error) {
		s.monitor.Post(func() {
			if s.answered(q) {
				r.result, r.err, r.ended = result, err, true
			}
		})
	})
	return r
}

// Await waits for the editor's answer. It returns ErrWithdrawn after Withdraw, and the errors of wire.Ask. When the session
// ends, the request must be withdrawn. The caller must hold the session's lock.
func (r *Request[T]) Await(ctx context.Context) (T, error) {
	if err := r.sender.monitor.Await(ctx, func() bool { return r.ended }); err != nil {
		return r.result, err
	}
	return r.result, r.err
}

// Withdraw withdraws the request, and ends Await. It reports whether the request had no answer yet. The caller must hold the session's
// lock.
func (r *Request[T]) Withdraw() bool {
	waits := r.PendingRequest.Withdraw()
	if waits {
		r.err, r.ended = ErrWithdrawn, true
	}
	return waits
}

// AsyncRequest is a PendingRequest whose waiter does not hold the session's lock.
type AsyncRequest[T any] struct {
	*PendingRequest
	// Answered receives nil, or the reason why there is no answer, once, even if the session has ended. After Withdraw it receives nothing.
	Answered <-chan error
	Result   T // valid after that
}

// SendAsync sends a request to the editor for a caller that does not hold the session's lock.
func SendAsync[T any](s *Sender, method string, params any) *AsyncRequest[T] {
	answered := make(chan error, 1)
	r := &AsyncRequest[T]{Answered: answered}
	r.PendingRequest = ask(s, method, params, func(q *PendingRequest, result T, err error) {
		if s.answered(q) {
			r.Result = result
			answered <- err
		}
	})
	return r
}

// ask sends a request to the editor, and calls came with the answer, or with the reason why there is none.
func ask[T any](s *Sender, method string, params any, came func(q *PendingRequest, result T, err error)) *PendingRequest {
	q := &PendingRequest{sender: s, method: method, since: time.Now()}
	send := func() {
		pending := wire.Ask(s.editor, method, params, func(result T, err error) { came(q, result, err) })
		s.mu.Lock()
		q.pending = pending
		s.mu.Unlock()
	}
	s.mu.Lock()
	s.requests = append(s.requests, q)
	holds := s.holds
	if holds {
		s.held = append(s.held, func() {
			if s.waits(q) {
				send()
			}
		})
	}
	s.mu.Unlock()
	if !holds {
		send()
	}
	return q
}

// waits reports whether a request is pending.
func (s *Sender) waits(q *PendingRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.requests, q)
}

// Withdraw withdraws the request. It reports whether the request had no answer yet.
func (q *PendingRequest) Withdraw() bool {
	waits := q.sender.answered(q)
	q.sender.mu.Lock()
	pending := q.pending
	q.sender.mu.Unlock()
	if waits && pending != nil { // else it was not sent
		pending.Withdraw()
	}
	return waits
}

// answered ends a request. It returns false if the request had ended before.
func (s *Sender) answered(q *PendingRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	s.requests = slices.DeleteFunc(s.requests, func(other *PendingRequest) bool { return other == q })
	return len(s.requests) < n
}

// Requests returns a line for each request that the editor has not answered.
func (s *Sender) Requests(now time.Time) (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.requests {
		lines = append(lines, fmt.Sprintf("the session waits for the editor's answer to %s since %v", q.method, now.Sub(q.since).Round(time.Second)))
	}
	return lines
}
