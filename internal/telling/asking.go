package telling

import (
	"context"
	"fmt"
	"slices"
	"time"

	"droid-acp/internal/wire"
)

// Asked is a request of the session to its editor that has no answer yet.
type Asked struct {
	way     *Way
	method  string
	since   time.Time
	pending *wire.Pending
}

// Ask asks the editor something. done gets the result or why there is none, see wire.Ask, in
// the session's owner: never when the session has ended, nor after Withdraw.
func Ask[T any](w *Way, method string, params any, done func(T, error)) *Asked {
	return ask(w, method, params, func(f func()) { w.post(f) }, done)
}

// Await is Ask for one who waits beside the owner. The answer goes to them at once, as the owner
// may be busy with the session's end, which some requests outlive: an edit must be whole. When
// ctx ends, the request is withdrawn.
func Await[T any](ctx context.Context, w *Way, method string, params any) (T, error) {
	type outcome struct {
		result T
		err    error
	}
	answered := make(chan outcome, 1)
	q := ask(w, method, params, func(f func()) { f() }, func(result T, err error) { answered <- outcome{result, err} })
	select {
	case <-ctx.Done():
		if q.Withdraw() {
			return *new(T), context.Cause(ctx)
		}
		o := <-answered
		return o.result, o.err
	case o := <-answered:
		return o.result, o.err
	}
}

// ask is Ask, with the one who calls done.
func ask[T any](w *Way, method string, params any, call func(func()), done func(T, error)) *Asked {
	q := &Asked{way: w, method: method, since: time.Now()}
	w.mu.Lock()
	w.asked = append(w.asked, q)
	w.mu.Unlock()
	q.pending = wire.Ask(w.editor, method, params, func(result T, err error) {
		call(func() {
			if w.answered(q) {
				done(result, err)
			}
		})
	})
	return q
}

// Withdraw has no answer come any more. It reports whether it was in time.
func (q *Asked) Withdraw() bool {
	waits := q.way.answered(q)
	if waits {
		q.pending.Withdraw()
	}
	return waits
}

// answered ends a request. It reports false when it had ended before.
func (w *Way) answered(q *Asked) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.asked)
	w.asked = slices.DeleteFunc(w.asked, func(other *Asked) bool { return other == q })
	return len(w.asked) < n
}

// Waits tells what the editor has not answered, a line each.
func (w *Way) Waits(now time.Time) (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.asked {
		lines = append(lines, fmt.Sprintf("the session waits for the editor's answer to %s since %v", q.method, now.Sub(q.since).Round(time.Second)))
	}
	return lines
}
