package telling

import (
	"fmt"
	"slices"
	"time"

	"droid-acp/internal/acp/wire"
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

// AskBeside is Ask for what goes on beside the owner: done gets the answer where it arrives, at
// once and also when the session has ended. It must not block.
func AskBeside[T any](w *Way, method string, params any, done func(T, error)) *Asked {
	return ask(w, method, params, func(f func()) { f() }, done)
}

// ask is Ask, with what has done called.
func ask[T any](w *Way, method string, params any, do func(func()), done func(T, error)) *Asked {
	q := &Asked{way: w, method: method, since: time.Now()}
	w.mu.Lock()
	w.asked = append(w.asked, q)
	w.mu.Unlock()
	q.pending = wire.Ask(w.editor, method, params, func(result T, err error) {
		do(func() {
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
