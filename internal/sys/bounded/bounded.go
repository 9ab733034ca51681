// Package bounded has the calls that may hang for good, on a drive of the network that is gone,
// waited for no longer than a bound. Each has a name; internal/testing/archtest holds that all go through
// here, and that a test has each of them hang.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/sys/files"
)

const (
	// limit bounds the wait for a disk. A local one takes milliseconds; all files of a
	// large store on a slow drive of the network take seconds.
	limit = 30 * time.Second
	// most bounds the calls that are under way at once.
	most = 256
)

// Call names a call that may hang, as internal/testing/archtest has it in its list.
type Call string

// Calls are the calls of one agent.
type Calls struct {
	life  context.Context // of the agent
	calls *files.Calls
	log   *zap.Logger

	Hangs func(call Call) // tests: has a call hang, before it begins
}

// New is for an agent that lives until life ends.
func New(life context.Context, log *zap.Logger) *Calls {
	return &Calls{life: life, calls: files.NewCalls(most, limit), log: log}
}

// panicked is a panic of a call, on its way to who waits for it.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprint(p.value) }

// Do calls f and waits for it until ctx or the agent ends, and no longer than limit.
// path is what f reads or writes, for the error. What f does later is its own affair: it
// changes nothing of the caller's.
func Do[T any](ctx context.Context, c *Calls, call Call, path string, f func(path string) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	return DoAtEnd(ctx, c, call, path, f)
}

// DoAtEnd is Do for what is done while the agent ends.
func DoAtEnd[T any](ctx context.Context, c *Calls, call Call, path string, f func(path string) (T, error)) (T, error) {
	value, err := files.Within(ctx, c.calls, path, func(path string) (value T, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = &panicked{p}
			}
		}()
		if c.Hangs != nil {
			c.Hangs(call)
		}
		return f(path)
	})
	var p *panicked
	if errors.As(err, &p) {
		panic(p.value)
	}
	if errors.Is(err, files.ErrHangs) {
		err = fmt.Errorf("%w. If it is on a drive of the network, see that the drive is there, and try again", err)
	}
	return value, err
}

// Done makes a call that has no result but its error one for Do.
func Done(f func() error) func(string) (struct{}, error) {
	return func(string) (struct{}, error) { return struct{}{}, f() }
}

// ReleaseTime bounds what lets go of a lock, or of the files of one call.
const ReleaseTime = 2 * time.Second

// AtEnd does on the disk what is to be done when something has ended, within a bound. Each has
// a name of its own for files.Within, which does not begin what hangs already: f would be left
// undone because another one hangs.
func (c *Calls) AtEnd(call Call, limit time.Duration, f func()) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if _, err := DoAtEnd(ctx, c, call, string(call)+" "+uuid.NewString(), Done(func() error { f(); return nil })); err != nil {
		c.log.Warn("the disk does not answer", zap.Error(err))
	}
}
