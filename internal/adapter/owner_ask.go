package adapter

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/problem"
)

// inquiry is work for an owner that somebody waits for.
type inquiry[T any] struct {
	// work runs in the owner. It gives the answer at once or later, from whichever
	// goroutine. Only the first answer counts.
	work func(answer func(T, *acp.RequestError))

	// ordered, if not nil, is called once the work is posted: work that is posted
	// later runs later.
	ordered func()

	// cancelled runs in the owner, after work, when ctx ends while somebody still
	// waits. It may answer. Without it the end of ctx changes nothing.
	ctx       context.Context
	cancelled func(answer func(T, *acp.RequestError))

	// held runs in the owner after a panic in the owner or beside it. It reports
	// whether an answer will come all the same. Without it a panic ends the waiting.
	held func() bool
}

// askOwner has the owner do some work and waits for the answer. There always is
// one: errEnding when the owner ends without an answer, or has ended before;
// errLost when a panic ended the work.
func askOwner[T any](o *owner, q inquiry[T]) (T, *acp.RequestError) {
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
	posted := o.post(func() { q.work(answer) })
	if q.ordered != nil {
		q.ordered()
	}
	if !posted {
		fail(o.endError())
	}
	if q.cancelled != nil {
		defer context.AfterFunc(q.ctx, func() { o.post(func() { q.cancelled(answer) }) })()
	}
	for {
		select {
		case out := <-answered:
			return out.value, out.err
		case <-o.over:
			fail(o.endError())
			out := <-answered
			return out.value, out.err
		case <-panicked:
			panicked = o.panics.listen()
			if q.held == nil {
				fail(errLost())
				continue
			}
			o.post(func() {
				if !q.held() {
					fail(errLost())
				}
			})
		}
	}
}

// refuseWhenCancelled is the form of inquiry.cancelled that ends the waiting.
func refuseWhenCancelled[T any](answer func(T, *acp.RequestError)) {
	var none T
	answer(none, problem.Cancelled())
}
