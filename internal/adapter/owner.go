package adapter

import (
	"cmp"
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/problem"
)

// owner is a goroutine that alone touches some state. Everybody else posts work to
// it. What blocks runs beside it, in goroutines that post their outcome back, so
// that the owner never waits for anything but the next work.
//
// A panic in the owner or beside it ends the work at hand, not the program: lost is
// called in the owner, and whoever waits for an answer is told (see askOwner).
type owner struct {
	ctx  context.Context
	stop context.CancelFunc // ends ctx, and so the owner
	over chan struct{}      // closed when the owner has ended: no work is done any more

	log    *zap.Logger
	mail   *mailbox
	beside sync.WaitGroup // goroutines beside the owner
	panics alarm
	after  func()                           // runs after each event, work and tick
	lost   func(p any)                      // clears away after the panic p; it may panic itself
	unfit  atomic.Pointer[acp.RequestError] // see isUnfit
}

func newOwner(ctx context.Context, log *zap.Logger, lost func(p any)) *owner {
	o := &owner{over: make(chan struct{}), log: log, mail: newMailbox(), lost: lost}
	o.ctx, o.stop = context.WithCancel(ctx)
	return o
}

// isUnfit notes why the owner takes nothing any more and is about to be stopped.
func (o *owner) isUnfit(err *acp.RequestError) { o.unfit.Store(err) }

// endError answers who asks the owner when it has ended, or is about to.
func (o *owner) endError() *acp.RequestError { return cmp.Or(o.unfit.Load(), problem.Ending()) }

// post leaves work for the owner; false means that the owner has ended.
func (o *owner) post(f func()) bool { return o.mail.post(f) }

// do runs a blocking call beside the owner, which waits for it before it ends. The
// call's context ends with the owner's. If the call panics, the owner does failed.
func (o *owner) do(f func(ctx context.Context), failed ...func()) {
	o.beside.Go(func() {
		defer o.besidePanicked(failed)
		f(o.ctx)
	})
}

// besidePanicked is deferred in a goroutine beside the owner. The owner deals with
// a panic there, and then does failed.
func (o *owner) besidePanicked(failed []func()) {
	p := recover()
	if p == nil {
		return
	}
	o.logPanic("panic beside the owner", p)
	o.post(func() {
		o.lose(p)
		for _, f := range failed {
			o.guard(f)
		}
	})
}

// guard runs f in the owner. A panic ends f alone.
func (o *owner) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			o.logPanic("panic in the owner", p)
			o.lose(p)
		}
	}()
	f()
}

// lose clears away after a panic and tells those who wait for an answer.
func (o *owner) lose(p any) {
	defer o.panics.ring()
	defer func() {
		if again := recover(); again != nil {
			o.logPanic("panic after a panic in the owner", again)
		}
	}()
	o.lost(p)
}

func (o *owner) logPanic(text string, p any) {
	o.log.Error(text, zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
}

// duties are what an owner does of itself, beside the work that is posted to it.
// All of them run in the owner.
type duties[E any] struct {
	// await says what the owner waits for beside posted work: the next event, room
	// for more to write, and for how long at most. A nil channel is not waited for.
	await func() (events <-chan E, room <-chan struct{}, limit time.Duration)
	event func(ev E, open bool) // an event came, or the channel of events was closed
	room  func()                // there is room
	tick  func()                // the time is up
	after func()                // runs after each of these, and after each posted work
	end   func()                // the owner was stopped; nothing is awaited any more
	// ended runs after end, even if end panicked.
	ended func()
}

// idleTime is the longest that an owner waits: when nothing is due, and when await
// panicked.
const idleTime = time.Hour

// runOwner is the owner's goroutine. It returns when the owner was stopped and its
// duties end and ended are done.
func runOwner[E any](o *owner, d duties[E]) {
	defer close(o.over)
	timer := time.NewTimer(idleTime)
	defer timer.Stop()
	o.after = d.after
	for {
		events, room, limit := (<-chan E)(nil), (<-chan struct{})(nil), idleTime
		o.guard(func() { events, room, limit = d.await() })
		timer.Reset(limit)
		select {
		case <-o.mail.wake:
			o.work(o.mail.take())
		case ev, open := <-events:
			o.step(func() { d.event(ev, open) })
		case <-room:
			o.step(d.room)
		case <-timer.C:
			o.step(d.tick)
		case <-o.ctx.Done():
			o.guard(d.end)
			o.guard(d.ended)
			return
		}
	}
}

// work does what was posted.
func (o *owner) work(mail []func()) {
	for _, f := range mail {
		o.step(f)
	}
}

// step does one thing, and what it has made possible.
func (o *owner) step(f func()) {
	o.guard(f)
	if o.after != nil {
		o.guard(o.after)
	}
}

// settle waits for the goroutines beside the owner and does the work that they
// post. After it, nothing can be posted any more.
func (o *owner) settle() {
	for {
		o.beside.Wait()
		mail := o.mail.take()
		if len(mail) == 0 {
			break
		}
		o.work(mail)
	}
	o.work(o.mail.close())
}

// alarm tells those who wait for an owner that it panicked, since what they wait
// for may be lost.
type alarm struct {
	mu   sync.Mutex
	next chan struct{}
}

// listen returns a channel that is closed with the next panic.
func (a *alarm) listen() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == nil {
		a.next = make(chan struct{})
	}
	return a.next
}

func (a *alarm) ring() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next != nil {
		close(a.next)
		a.next = nil
	}
}
