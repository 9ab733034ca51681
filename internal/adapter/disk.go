package adapter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/files"
	"droid-acp/internal/store"
	"droid-acp/internal/trust"
)

// What reads or writes a disk may hang for good, on a drive of the network that is gone. So
// each such call of this package goes through bounded, never in the goroutine that reads the
// editor's lines, nor in a session's owner. internal/walls has the list of them.

const (
	// diskTime bounds the wait for a disk. A local one takes milliseconds; all files of a
	// large store on a slow drive of the network take seconds.
	diskTime = 30 * time.Second
	// diskCalls bounds the calls that are under way at once.
	diskCalls = 256
)

// diskCall names a call that may hang, as internal/walls has it in its list.
type diskCall string

// diskPanic is a panic of a call, on its way to who waits for it.
type diskPanic struct{ value any }

func (p *diskPanic) Error() string { return fmt.Sprint(p.value) }

// bounded calls f and waits for it until ctx or the agent ends, and no longer than diskTime.
// path is what f reads or writes, for the error. What f does later is its own affair: it
// changes nothing of the caller's.
func bounded[T any](ctx context.Context, a *Agent, call diskCall, path string, f func(path string) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	return boundedAtEnd(ctx, a, call, path, f)
}

// boundedAtEnd is bounded for what is done while the agent ends.
func boundedAtEnd[T any](ctx context.Context, a *Agent, call diskCall, path string, f func(path string) (T, error)) (T, error) {
	value, err := files.Within(ctx, a.disk, path, func(path string) (value T, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = &diskPanic{p}
			}
		}()
		if a.hangs != nil {
			a.hangs(call)
		}
		return f(path)
	})
	var panicked *diskPanic
	if errors.As(err, &panicked) {
		panic(panicked.value)
	}
	if errors.Is(err, files.ErrHangs) {
		err = fmt.Errorf("%w. If it is on a drive of the network, see that the drive is there, and try again", err)
	}
	return value, err
}

// done makes a call that has no result but its error one for bounded.
func done(f func() error) func(string) (struct{}, error) {
	return func(string) (struct{}, error) { return struct{}{}, f() }
}

// What is done on the disk when something has ended is bounded, too.
const (
	// releaseTime is for a lock, or the files of one call.
	releaseTime = 2 * time.Second
	// closeTime is for the edits that are on their way to the editor, which has up to 6 s for them.
	closeTime = 10 * time.Second
)

// atEnd does on the disk what is to be done when something has ended, within a bound. Each has
// a name of its own for files.Within, which does not begin what hangs already: f would be left
// undone because another one hangs.
func (a *Agent) atEnd(call diskCall, limit time.Duration, f func()) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if _, err := boundedAtEnd(ctx, a, call, string(call)+" "+uuid.NewString(), done(func() error { f(); return nil })); err != nil {
		a.log.Warn("the disk does not answer", zap.Error(err))
	}
}

// stored finds a session in the store.
func (a *Agent) stored(ctx context.Context, id string) (store.Session, error) {
	return bounded(ctx, a, "Store.Find", "session "+id, func(string) (store.Session, error) { return a.cfg.Store.Find(id) })
}

// heldElsewhere reports whether another agent has a session open.
func (a *Agent) heldElsewhere(ctx context.Context, id string) (bool, error) {
	return bounded(ctx, a, "Store.Held", "session "+id, func(string) (bool, error) { return a.cfg.Store.Held(id), nil })
}

// project looks at what a project brings to run.
func (a *Agent) project(ctx context.Context, cwd string) (trust.Project, error) {
	return bounded(ctx, a, "Trust.Look", cwd, func(cwd string) (trust.Project, error) { return a.cfg.Trust.Look(cwd), nil })
}
