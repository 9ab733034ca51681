// Package owner has the goroutine that alone touches some state: work is posted to it, what
// blocks runs beside it, and who waits for its answer gets one.
package owner

import (
	"cmp"
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/problem"
)

// Owner is a goroutine that alone touches some state. Everybody else posts work to
// it. What blocks runs beside it, in goroutines that post their outcome back, so
// that the owner never waits for anything but the next work, until it was stopped.
//
// A panic in the owner or beside it ends the work at hand, not the program: lost is
// called in the owner, and has what waits for that work end.
type Owner struct {
	Context context.Context    // of what runs beside the owner
	Stop    context.CancelFunc // ends Context, and so the owner
	Over    chan struct{}      // closed when the owner has ended: no work is done any more

	log     *zap.Logger
	wake    chan struct{} // has one token while there is mail
	mu      sync.Mutex
	mail    []func()                         // that was posted
	closed  bool                             // nothing is taken any more
	beside  sync.WaitGroup                   // goroutines beside the owner
	settled bool                             // what is posted is taken no more, see Settle
	after   func()                           // runs after each event, work and tick
	lost    func(p any)                      // clears away after the panic p; it may panic itself
	unfit   atomic.Pointer[acp.RequestError] // see Refuse
}

// New makes an owner, which Run then is. lost clears away, in the owner, after a panic.
func New(ctx context.Context, log *zap.Logger, lost func(p any)) *Owner {
	o := &Owner{Over: make(chan struct{}), log: log, wake: make(chan struct{}, 1), lost: lost}
	o.Context, o.Stop = context.WithCancel(ctx)
	return o
}

// Refuse notes why the owner takes nothing any more and is about to be stopped.
func (o *Owner) Refuse(err *acp.RequestError) { o.unfit.Store(err) }

// Refusal is what Refuse noted, nil for nothing.
func (o *Owner) Refusal() *acp.RequestError { return o.unfit.Load() }

// EndError answers who asks the owner when it has ended, or is about to.
func (o *Owner) EndError() *acp.RequestError { return cmp.Or(o.unfit.Load(), problem.Ending()) }

// Post leaves work for the owner; false means that the owner has ended and will not do it. It never blocks, so that a
// session whose editor reads slowly still hears a cancel.
func (o *Owner) Post(f func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.mail = append(o.mail, f)
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return true
}

// takeMail hands out what was posted. The last time, nothing can be posted any more.
func (o *Owner) takeMail(last bool) []func() {
	o.mu.Lock()
	defer o.mu.Unlock()
	mail := o.mail
	o.mail, o.closed = nil, last
	return mail
}

// Do runs a blocking call beside the owner, which waits for it before it ends. The
// call's context ends with the owner's. It is for what nobody goes on after: else see Task.Beside.
func (o *Owner) Do(f func(ctx context.Context)) {
	o.beside.Go(func() {
		if p := o.Caught(f); p != nil {
			o.Post(func() { o.lose(p) })
		}
	})
}

// Guard runs f in the owner. A panic ends f alone.
func (o *Owner) Guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			o.logPanic("panic in the owner", p)
			o.lose(p)
		}
	}()
	f()
}

// lose clears away after a panic. A step follows, in which goes on what that lets go.
func (o *Owner) lose(p any) {
	defer o.Post(func() {})
	defer func() {
		if again := recover(); again != nil {
			o.logPanic("panic after a panic in the owner", again)
		}
	}()
	o.lost(p)
}

func (o *Owner) logPanic(text string, p any) {
	o.log.Error(text, zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
}

// Duties are what an owner does of itself, beside the work that is posted to it.
// All of them run in the owner.
type Duties[E any] struct {
	// Await says what the owner waits for beside posted work: the next event, room
	// for more to write, and when something is due, zero for never. A nil channel is not
	// waited for.
	Await func() (events <-chan E, room <-chan struct{}, due time.Time)
	Event func(ev E, open bool) // an event came, or the channel of events was closed
	Room  func()                // there is room
	Tick  func()                // what is due is due now
	After func()                // runs after each of these, and after each posted work
	End   func()                // the owner was stopped; nothing is awaited any more
	// Ended runs after End, even if End panicked.
	Ended func()
}

// Run is the owner's goroutine. It returns when the owner was stopped and its
// duties End and Ended are done.
func Run[E any](o *Owner, d Duties[E]) {
	defer close(o.Over)
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	// What is due moves on with each event, so the timer is left as it is where it rings
	// too early only: it is set again then.
	var rings time.Time
	o.after = d.After
	for {
		var events <-chan E
		var room <-chan struct{}
		var due time.Time
		o.Guard(func() { events, room, due = d.Await() })
		if !due.IsZero() && (rings.IsZero() || due.Before(rings)) {
			rings = due
			timer.Reset(time.Until(due))
		}
		select {
		case <-o.wake:
			o.work(o.takeMail(false))
		case ev, open := <-events:
			o.step(func() { d.Event(ev, open) })
		case <-room:
			o.step(d.Room)
		case <-timer.C:
			rings = time.Time{}
			if !due.IsZero() && time.Until(due) <= 0 {
				o.step(d.Tick)
			}
		case <-o.Context.Done():
			o.Guard(d.End)
			o.Guard(d.Ended)
			return
		}
	}
}

// work does what was posted.
func (o *Owner) work(mail []func()) {
	for _, f := range mail {
		o.step(f)
	}
}

// step does one thing, and what it has made possible.
func (o *Owner) step(f func()) {
	o.Guard(f)
	if o.after != nil {
		o.Guard(o.after)
	}
}

// WaitBeside waits for the goroutines beside the owner.
func (o *Owner) WaitBeside() { o.beside.Wait() }

// Settle waits for the goroutines beside the owner and does the work that they
// Post. After it, nothing can be posted any more.
func (o *Owner) Settle() {
	for {
		o.beside.Wait()
		mail := o.takeMail(false)
		if len(mail) == 0 {
			break
		}
		o.work(mail)
	}
	o.settled = true
	o.work(o.takeMail(true))
}
