// Package monitor implements the lock of a session, a Monitor. Its holder may wait for a condition, and may release it during a call that
// blocks. It goes to the oldest waiter whose condition holds, and then to those who asked for it, in order.
package monitor

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Hooks are called with the lock.
type Hooks struct {
	Refresh  func()      // updates what conditions depend on; the lock is being given up
	Advance  func() bool // does what can be done when no condition holds, and reports whether it did anything
	Panicked func(p any) // a hook, or a function given to Go or Post, has panicked
}

// Monitor is a lock. Make it with New. Where a method says so, the caller must have the lock.
type Monitor struct {
	hooks Hooks

	waiters []*waiter // for conditions, the oldest first; the lock guards this and the next three
	lenders []*waiter // callers of Go that get the lock back, the last one first
	outside int       // goroutines in Unlocked
	ended   error     // see End

	mu     sync.Mutex // guards the rest, and is held for some instructions only
	held   bool       // somebody has the lock
	closed bool
	queue  []*waiter // want the lock, the oldest first
}

// waiter is a goroutine that waits for the lock.
type waiter struct {
	granted   chan struct{} // has a token when the lock is the waiter's
	given     bool          // it is; Monitor.mu guards this
	condition func() bool   // nil for none
	patient   bool          // End does not end the wait
	holds     bool          // the condition did when it was evaluated last
	panicked  any           // what the condition panicked with then
	Wait
}

// Wait describes a wait for the user.
type Wait struct {
	Who, What string // Who is "" if the user is not shown the waiter
	Since     time.Time
}

// New makes a Monitor whose lock is free.
func New(h Hooks) *Monitor { return &Monitor{hooks: h} }

// Reserve gives the caller a place among those who want the lock, and does not wait. lock, which waits for it, must be called. It is nil
// after Close.
func (m *Monitor) Reserve() (lock func()) {
	w := newWaiter(nil)
	if m.enqueue(w) {
		lock = func() { <-w.granted }
	}
	return lock
}

// Lock waits for the lock. It must not be called after Close.
func (m *Monitor) Lock() {
	m.mu.Lock()
	free := !m.held
	m.held = true
	m.mu.Unlock()
	if !free {
		m.Reserve()()
	}
}

// Unlock gives the lock up, which the caller must have: to the caller of Go that has lent it, else to the oldest waiter whose
// condition holds, else to who asked for it first.
func (m *Monitor) Unlock() {
	if n := len(m.lenders); n > 0 {
		lender := m.lenders[n-1]
		m.lenders = m.lenders[:n-1]
		lender.granted <- struct{}{}
		return
	}
	for again := true; again; {
		m.Guard(m.hooks.Refresh)
		if w := m.satisfied(); w != nil {
			m.hand(w)
			return
		}
		again = false
		m.Guard(func() { again = m.hooks.Advance() })
	}
	m.hand(nil)
}

// WaitFor releases the lock until the condition holds, or ctx or the Monitor ends, which is an error. The condition is evaluated with the
// lock. It must be pure; if it panics, so does WaitFor. The caller must hold the lock, and holds it again afterwards.
func (m *Monitor) WaitFor(ctx context.Context, who, what string, condition func() bool) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case m.ended != nil:
		return m.ended
	}
	w := newWaiter(condition)
	w.Wait = Wait{who, what, time.Now()}
	return m.wait(ctx, w)
}

// Await is WaitFor for a condition that will hold in any case: End does not end it, and the user is not shown the waiter.
func (m *Monitor) Await(ctx context.Context, condition func() bool) error {
	w := newWaiter(condition)
	w.patient = true
	return m.wait(ctx, w)
}

func (m *Monitor) wait(ctx context.Context, w *waiter) error {
	m.waiters = append(m.waiters, w)
	defer m.forget(w)
	if m.satisfied() != w {
		m.Unlock()
		select {
		case <-w.granted:
		case <-ctx.Done():
			m.enqueue(w)
			<-w.granted
		}
	}
	switch {
	case w.panicked != nil:
		panic(w.panicked)
	case w.holds:
		return nil
	case m.ended != nil && !w.patient:
		return m.ended
	}
	return context.Cause(ctx)
}

// Unlocked gives the lock up while f runs, which may block and may panic. who and what describe f for the user; who may be "". The
// caller must have the lock, and has it again.
func (m *Monitor) Unlocked(who, what string, f func()) {
	w := newWaiter(nil)
	w.Wait = Wait{who, what, time.Now()}
	m.waiters = append(m.waiters, w)
	m.outside++
	m.Unlock()
	defer func() {
		m.enqueue(w)
		<-w.granted
		m.outside--
		m.forget(w)
	}()
	f()
}

// Go runs f in another goroutine, which has the lock. It returns when that gives the lock up for the first time. The caller must have
// the lock, and has it again.
func (m *Monitor) Go(f func()) {
	w := newWaiter(nil)
	m.lenders = append(m.lenders, w)
	go m.run(f)
	<-w.granted
}

// Post runs f in another goroutine, which gets the lock behind those who have asked for it. It returns false after Close.
func (m *Monitor) Post(f func()) bool {
	lock := m.Reserve()
	if lock != nil {
		go func() {
			lock()
			m.run(f)
		}()
	}
	return lock != nil
}

// Yield gives the lock up to those who have asked for it until now. The caller must have the lock, and has it again.
func (m *Monitor) Yield() {
	lock := m.Reserve()
	m.Unlock()
	lock()
}

func (m *Monitor) run(f func()) {
	defer m.Unlock()
	m.Guard(f)
}

// Guard calls f. A panic goes to Hooks.Panicked. The caller must have the lock.
func (m *Monitor) Guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			m.hooks.Panicked(p)
		}
	}()
	f()
}

// End has WaitFor return err, to those who wait and to those who come. The caller must have the lock.
func (m *Monitor) End(err error) { m.ended = err }

// WaitIdle waits until everything that ran in Unlocked has had the lock, and nothing wants it. The caller must hold the lock, and holds it
// again afterwards.
func (m *Monitor) WaitIdle() {
	_ = m.Await(context.Background(), func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.outside == 0 && len(m.queue) == 0
	})
}

// Close settles the Monitor, after which the lock cannot be taken. The caller must hold it.
func (m *Monitor) Close() {
	for !m.closed {
		m.WaitIdle()
		m.mu.Lock()
		m.closed = len(m.queue) == 0
		m.mu.Unlock()
	}
}

// Waits describes those who wait for a condition or for what runs in Unlocked, the oldest first. The caller must have the lock.
func (m *Monitor) Waits() (waits []Wait) {
	for _, w := range m.waiters {
		if w.Who != "" {
			waits = append(waits, w.Wait)
		}
	}
	return waits
}

func newWaiter(condition func() bool) *waiter {
	return &waiter{granted: make(chan struct{}, 1), condition: condition}
}

// satisfied returns the oldest waiter that has no more to wait for, nil for none.
func (m *Monitor) satisfied() *waiter {
	for _, w := range m.waiters {
		if m.proceeds(w) {
			return w
		}
	}
	return nil
}

// proceeds reports whether a waiter has no more to wait for.
func (m *Monitor) proceeds(w *waiter) (proceeds bool) {
	if w.condition == nil {
		return false
	}
	defer func() {
		w.panicked = recover()
		proceeds = w.holds || w.panicked != nil || m.ended != nil && !w.patient
	}()
	w.holds = w.condition()
	return w.holds
}

// forget notes that a waiter waits no longer.
func (m *Monitor) forget(w *waiter) { m.waiters = without(m.waiters, w) }

func without(list []*waiter, w *waiter) []*waiter {
	return slices.DeleteFunc(list, func(other *waiter) bool { return other == w })
}

// enqueue has w get the lock when its turn comes, unless it has it. It returns false after Close.
func (m *Monitor) enqueue(w *waiter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return false
	case w.given:
	case m.held:
		m.queue = append(m.queue, w)
	default:
		m.held = true
		w.give()
	}
	return true
}

// give gives w the lock. The caller has mu.
func (w *waiter) give() {
	w.given = true
	w.granted <- struct{}{}
}

// hand gives the lock to w, and where that is nil to who asked for it first.
func (m *Monitor) hand(w *waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w == nil && len(m.queue) > 0 {
		w = m.queue[0]
	}
	if m.held = w != nil; m.held {
		m.queue = without(m.queue, w)
		w.give()
	}
}
