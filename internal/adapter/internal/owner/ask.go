package owner

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/adapter/problem"
)

// Inquiry is work for an owner that somebody waits for.
type Inquiry[T any] struct {
	// Work runs in the owner. It gives the answer at once or later, from whichever
	// goroutine. Only the first answer counts.
	Work func(answer func(T, *acp.RequestError))

	// Ordered, if not nil, is called once the work is posted: work that is posted
	// later runs later.
	Ordered func()

	// Cancelled runs in the owner, after Work, when Context ends while somebody still
	// waits. It may answer. Without it the end of Context changes nothing.
	Context   context.Context
	Cancelled func(answer func(T, *acp.RequestError))

	// Held runs in the owner after a panic in the owner or beside it. It reports
	// whether an answer will come all the same. Without it a panic ends the waiting.
	Held func() bool
}

// Ask has the owner do some work and waits for the answer. There always is
// one: problem.Ending when the owner ends without an answer, or has ended before;
// problem.Lost when a panic ended the work.
func Ask[T any](o *Owner, q Inquiry[T]) (T, *acp.RequestError) {
	type outcome struct {
		value T
		err   *acp.RequestError
	}
	answered := make(chan outcome, 1)
	answer := func(value T, err *acp.RequestError) {
		select {
		case answered <- outcome{value, err}:
		default: // there was an answer before
		}
	}
	fail := func(err *acp.RequestError) {
		var none T
		answer(none, err)
	}
	panicked := o.panics.listen() // before the work can panic
	posted := o.Post(func() { q.Work(answer) })
	if q.Ordered != nil {
		q.Ordered()
	}
	if !posted {
		fail(o.EndError())
	}
	if q.Cancelled != nil {
		defer context.AfterFunc(q.Context, func() { o.Post(func() { q.Cancelled(answer) }) })()
	}
	for {
		select {
		case out := <-answered:
			return out.value, out.err
		case <-o.Over:
			fail(o.EndError())
			out := <-answered
			return out.value, out.err
		case <-panicked:
			panicked = o.panics.listen()
			if q.Held == nil {
				fail(problem.Lost())
				continue
			}
			o.Post(func() {
				if !q.Held() {
					fail(problem.Lost())
				}
			})
		}
	}
}

// RefuseWhenCancelled is the form of Inquiry.Cancelled that ends the waiting.
func RefuseWhenCancelled[T any](answer func(T, *acp.RequestError)) {
	var none T
	answer(none, problem.Cancelled())
}
