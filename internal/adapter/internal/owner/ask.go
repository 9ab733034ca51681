package owner

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/adapter/problem"
)

// Ask has the owner do a task and returns what the task returns: problem.Lost when it panics, and EndError when
// the owner has ended before. ordered, if not nil, is called once the task is posted; work that is posted later runs
// later.
func Ask[T any](o *Owner, ordered func(), f func(t *Task) (T, *acp.RequestError)) (T, *acp.RequestError) {
	type outcome struct {
		value T
		err   *acp.RequestError
	}
	answered := make(chan outcome, 1)
	posted := o.Post(func() {
		o.Go(func(t *Task) {
			out := outcome{err: problem.Lost()} // where f panics
			defer func() { answered <- out }()
			out.value, out.err = f(t)
		})
	})
	if ordered != nil {
		ordered()
	}
	if posted {
		select {
		case out := <-answered:
			return out.value, out.err
		case <-o.Over: // all tasks have ended
		}
	}
	select {
	case out := <-answered:
		return out.value, out.err
	default:
		var none T
		return none, o.EndError()
	}
}

// Later is a value that a task waits for. The zero value has none. Only the owner and its tasks touch it.
type Later[T any] struct {
	value T
	there bool
	waits *Task
}

// Set gives the value. Only the first one counts.
func (l *Later[T]) Set(value T) {
	if l.there {
		return
	}
	l.value, l.there = value, true
	if t := l.waits; t != nil {
		l.waits = nil
		t.Resume(nil)
	}
}

// Await returns the value, when there is one, or why ctx has ended before. One task waits at most.
func (l *Later[T]) Await(ctx context.Context, t *Task) (value T, err error) {
	if !l.there {
		l.waits = t
		defer context.AfterFunc(ctx, func() { t.o.Post(func() { l.giveUp(t, context.Cause(ctx)) }) })()
		err = t.Pause() // Set has it go on, or giveUp
	}
	return l.value, err
}

func (l *Later[T]) giveUp(t *Task, why error) {
	if l.waits == t {
		l.waits = nil
		t.Resume(why)
	}
}
