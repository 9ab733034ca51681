// Package owner has what touches a session: tasks, one at a time.
package owner

import (
	"cmp"
	"context"
	"runtime/debug"
	"sync/atomic"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/monitor"
	"droid-acp/internal/adapter/problem"
)

// Owner is the lock of a session and the context of its work.
//
// A panic ends the work at hand, not the program: Hooks.Panicked is called with the lock, and has what waits for that work end.
type Owner struct {
	*monitor.Monitor
	Context context.Context    // of what the session does
	Stop    context.CancelFunc // ends Context, and so the session
	Over    chan struct{}      // closed when the session has ended: no work is done any more

	log   *zap.Logger
	lost  func(p any)                      // clears away after the panic p; it may panic itself
	unfit atomic.Pointer[acp.RequestError] // see Refuse
}

// New makes an Owner.
func New(ctx context.Context, log *zap.Logger, h monitor.Hooks) *Owner {
	o := &Owner{Over: make(chan struct{}), log: log, lost: h.Panicked}
	h.Panicked = o.panicked
	o.Monitor = monitor.New(h)
	o.Context, o.Stop = context.WithCancel(ctx)
	return o
}

// Refuse notes why the owner takes nothing any more and is about to be stopped.
func (o *Owner) Refuse(err *acp.RequestError) { o.unfit.Store(err) }

// Refusal is what Refuse noted, nil for nothing.
func (o *Owner) Refusal() *acp.RequestError { return o.unfit.Load() }

// EndError answers who asks the owner when it has ended, or is about to.
func (o *Owner) EndError() *acp.RequestError { return cmp.Or(o.unfit.Load(), problem.Ending()) }

// Post leaves work for the owner; false means that the owner has ended and will not do it. It never blocks.
func (o *Owner) Post(f func()) bool { return o.Async(f) == nil }

// Do runs f without the lock. f's context ends with the owner's, which waits for f before it ends.
func (o *Owner) Do(f func(ctx context.Context)) { o.Go(func(t *Task) { t.Beside(f) }) }

// panicked clears away after a panic.
func (o *Owner) panicked(p any) {
	defer func() {
		if again := recover(); again != nil {
			o.logPanic("panic after a panic in the owner", again)
		}
	}()
	o.logPanic("panic in the owner", p)
	o.lost(p)
}

func (o *Owner) logPanic(text string, p any) {
	o.log.Error(text, zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
}
