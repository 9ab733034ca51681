package telling

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
	way     *Updates
	method  string
	since   time.Time
	pending *wire.Pending
}

// ErrWithdrawn reports that a request was taken back, so that it has no answer.
var ErrWithdrawn = errors.New("the request was taken back")

// PromptRequest is an PendingRequest whose answer somebody waits for that has the session's lock.
type PromptRequest[T any] struct {
	*PendingRequest
	result T
	err    error
	ended  bool // has an answer, or was withdrawn
}

// SendRequest asks the editor something. Await is called for the answer.
func SendRequest[T any](w *Updates, method string, params any) *PromptRequest[T] {
	r := new(PromptRequest[T])
	r.PendingRequest = ask(w, method, params, func(q *PendingRequest, result T, err error) {
		w.monitor.Post(func() {
			if w.answered(q) {
				r.result, r.err, r.ended = result, err, true
			}
		})
	})
	return r
}

// Await returns the editor's answer, or why there is none, see wire.SendRequest: ErrWithdrawn after Withdraw. When the session
// ends, the request must be withdrawn. The caller must have the session's lock.
func (r *PromptRequest[T]) Await(ctx context.Context) (T, error) {
	if err := r.way.monitor.Await(ctx, func() bool { return r.ended }); err != nil {
		return r.result, err
	}
	return r.result, r.err
}

// Withdraw makes an answer no longer count, and releases the waiter. It reports whether it was in time. The caller must hold the session's
// lock.
func (r *PromptRequest[T]) Withdraw() bool {
	waits := r.PendingRequest.Withdraw()
	if waits {
		r.err, r.ended = ErrWithdrawn, true
	}
	return waits
}

// AsyncRequest is an PendingRequest whose answer something waits for that does not have the session's lock.
type AsyncRequest[T any] struct {
	*PendingRequest
	// Answered gets nil, or why there is no answer, once, also when the session has ended. After Withdraw nothing comes.
	Answered <-chan error
	Result   T // once that has come
}

// SendAsync asks the editor something for what does not have the session's lock.
func SendAsync[T any](w *Updates, method string, params any) *AsyncRequest[T] {
	answered := make(chan error, 1)
	r := &AsyncRequest[T]{Answered: answered}
	r.PendingRequest = ask(w, method, params, func(q *PendingRequest, result T, err error) {
		if w.answered(q) {
			r.Result = result
			answered <- err
		}
	})
	return r
}

// ask asks the editor something, and hands on the answer, or why there is none, as it comes.
func ask[T any](w *Updates, method string, params any, came func(q *PendingRequest, result T, err error)) *PendingRequest {
	q := &PendingRequest{way: w, method: method, since: time.Now()}
	send := func() {
		pending := wire.Ask(w.editor, method, params, func(result T, err error) { came(q, result, err) })
		w.mu.Lock()
		q.pending = pending
		w.mu.Unlock()
	}
	w.mu.Lock()
	w.requests = append(w.requests, q)
	holds := w.holds
	if holds {
		w.held = append(w.held, func() {
			if w.waits(q) {
				send()
			}
		})
	}
	w.mu.Unlock()
	if !holds {
		send()
	}
	return q
}

// waits reports whether a request was neither answered nor withdrawn.
func (w *Updates) waits(q *PendingRequest) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.requests, q)
}

// Withdraw makes an answer no longer count. It reports whether it was in time.
func (q *PendingRequest) Withdraw() bool {
	waits := q.way.answered(q)
	q.way.mu.Lock()
	pending := q.pending
	q.way.mu.Unlock()
	if waits && pending != nil { // else it was not sent
		pending.Withdraw()
	}
	return waits
}

// answered ends a request. It reports false when it had ended before.
func (w *Updates) answered(q *PendingRequest) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.requests)
	w.requests = slices.DeleteFunc(w.requests, func(other *PendingRequest) bool { return other == q })
	return len(w.requests) < n
}

// Requests returns a line for each request that the editor has not answered.
func (w *Updates) Requests(now time.Time) (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.requests {
		lines = append(lines, fmt.Sprintf("the session waits for the editor's answer to %s since %v", q.method, now.Sub(q.since).Round(time.Second)))
	}
	return lines
}
