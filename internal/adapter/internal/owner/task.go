package owner

import (
	"context"
	"time"
)

// Task is work of an owner's that waits for something in between: a function in a goroutine of its
// own, which reads from top to bottom. The owner stands still while a task runs, and so do all other
// tasks, but for those that it has begin or go on: what the owner has is the task's alone from each of its waits to the next, unless
// it calls Go or Resume. A task gives the owner up by Pause and Beside, and must block in no other way.
type Task struct {
	o     *Owner
	woken chan error
	gave  chan struct{} // the task waits, or has ended: who let it run goes on
}

// Go begins a task, and returns when it waits for the first time or has ended. It is called in the
// owner, in another task of the owner's, or by who made the owner before that runs.
func (o *Owner) Go(f func(t *Task)) {
	t := &Task{o: o, woken: make(chan error), gave: make(chan struct{})}
	go func() {
		defer close(t.gave)
		defer o.taskPanicked()
		f(t)
	}()
	<-t.gave
}

// taskPanicked is deferred in a task. The panic ends the task alone.
func (o *Owner) taskPanicked() {
	p := recover()
	if p == nil {
		return
	}
	if beside, ok := p.(panicBeside); ok {
		p = beside.value // it is in the log
	} else {
		o.logPanic("panic in a task of the owner", p)
	}
	o.lose(p)
}

// Pause waits until Resume is called, whose error it returns.
func (t *Task) Pause() error {
	t.gave <- struct{}{}
	return <-t.woken
}

// Resume has a task go on that pauses, and returns when it waits again or has ended. It is called in
// the owner, or in another task of the owner's.
func (t *Task) Resume(err error) {
	t.woken <- err
	<-t.gave
}

// Beside gives the owner up while f runs, which may block and must not touch what the owner has. f's
// context ends with the owner's; the owner waits for f before it ends. A panic of f is the task's.
func (t *Task) Beside(f func(ctx context.Context)) {
	if t.o.settled {
		f(t.o.Context) // which has ended
		return
	}
	t.o.beside.Add(1)
	t.gave <- struct{}{}
	panicked := t.o.Caught(f)
	t.o.Post(func() { t.Resume(nil) })
	t.o.beside.Done() // the owner takes what was posted before it ends
	<-t.woken
	if panicked != nil {
		panic(panicBeside{panicked})
	}
}

// BesideFor is Beside for a call that may take so long, and that fails.
func (t *Task) BesideFor(limit time.Duration, f func(ctx context.Context) error) (err error) {
	t.Beside(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err = f(ctx)
	})
	return err
}

// panicBeside is a panic beside the owner, on its way through a task.
type panicBeside struct{ value any }

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
