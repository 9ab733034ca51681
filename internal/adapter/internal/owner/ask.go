package owner

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/adapter/problem"
)

// Ask does a task and returns what it returns: problem.Lost when it panics, and EndError when the owner has ended before. ordered,
// if not nil, is called once the task has its place; work that is posted later runs later.
func Ask[T any](o *Owner, ordered func(), f func(t *Task) (T, *acp.RequestError)) (value T, err *acp.RequestError) {
	ticket, closed := o.Ticket()
	if ordered != nil {
		ordered()
	}
	if closed != nil {
		return value, o.EndError()
	}
	ticket.Lock()
	defer o.Unlock()
	err = problem.Lost() // where f panics
	o.Guard(func() { value, err = f(&Task{o}) })
	return value, err
}

// Later is a value that a task waits for. The zero value has none. Only who has the lock touches it.
type Later[T any] struct {
	value T
	there bool
}

// Set gives the value. Only the first one counts.
func (l *Later[T]) Set(value T) {
	if !l.there {
		l.value, l.there = value, true
	}
}

// Await returns the value, when there is one, or why ctx has ended before.
func (l *Later[T]) Await(ctx context.Context, t *Task) (value T, err error) {
	err = t.o.Await(ctx, func() bool { return l.there })
	return l.value, err
}
