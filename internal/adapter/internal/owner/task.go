package owner

import (
	"context"
	"time"
)

// Task is work that has the lock but where it waits.
type Task struct{ o *Owner }

// Go begins a task, and returns when it waits for the first time or has ended. The caller has the lock.
func (o *Owner) Go(f func(t *Task)) { o.Monitor.Go(func() { f(&Task{o}) }) }

// Beside gives the lock up while f runs, which may block. f's context ends with the owner's.
func (t *Task) Beside(f func(ctx context.Context)) { t.o.Unlocked("", "", func() { f(t.o.Context) }) }

// BesideFor is Beside for a call that may take so long, and that fails.
func (t *Task) BesideFor(limit time.Duration, f func(ctx context.Context) error) (err error) {
	t.Beside(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err = f(ctx)
	})
	return err
}

// Caught calls f and returns what it panics with.
func (o *Owner) Caught(f func(ctx context.Context)) (panicked any) {
	defer func() {
		if panicked = recover(); panicked != nil {
			o.logPanic("panic beside the owner", panicked)
		}
	}()
	f(o.Context)
	return nil
}
