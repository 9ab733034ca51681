// Package monitor implements the lock of a session, a Monitor. Its holder may wait for a condition, and may release it during a call that
// blocks. A released lock goes to the oldest waiter whose condition holds, else to the first goroutine in the queue for the lock.
package monitor

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Hooks are called with the lock.
type Hooks struct {
	Refresh  func()      // updates what conditions depend on, before the lock is released to another than a lender
	Advance  func() bool // does what can be done if no condition holds, and reports whether it did anything
	Panicked func(p any) // a hook, or a function given to Go or Post, has panicked
}

// Monitor is a lock. Make it with New.
type Monitor struct {
	hooks Hooks

	waiters []*waiter // for conditions, the oldest first; the lock guards this and the next three
	lenders []*waiter // callers of Go, to which the lock returns, the last one first
	outside int       // goroutines in Unlocked
	ended   error     // see End

	mu     sync.Mutex // guards the rest, and is held for a few instructions only
	held   bool       // a goroutine has the lock
	closed bool
	queue  []*waiter // for the lock, the oldest first
}

// waiter is a goroutine that waits for the lock.
type waiter struct {
	granted   chan struct{} // receives a token with the lock
	given     bool          // it has the lock; guarded by Monitor.mu
	condition func() bool   // nil for none
	patient   bool          // End does not end the wait
	holds     bool          // the condition held when it was evaluated last
	panicked  any           // the value with which the condition panicked then
	Wait
}

// Wait describes a wait for the user.
type Wait struct {
	Who, What string // Who is "" if the user does not see the waiter
	Since     time.Time
}

// New makes a Monitor that is not locked.
func New(h Hooks) *Monitor { return &Monitor{hooks: h} }

// Reserve queues the caller for the lock and does not wait. The caller must call lock, which waits. After Close it is nil.
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

// Unlock releases the lock, which the caller must hold. If Go has lent it, it returns to the lender. Otherwise it goes to the oldest waiter
// whose condition holds; if there is none and Hooks.Advance has nothing to do, to the first in the queue.
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

// WaitFor releases the lock until the condition holds. It returns an error if ctx or the Monitor ends first. The condition is evaluated
// with the lock and must be pure; if it panics, so does WaitFor. The caller must hold the lock, and holds it again afterwards.
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

// Await is WaitFor for a condition that will hold in any case: End does not end it, and the user does not see the waiter.
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

// Unlocked releases the lock while f runs, which may block and may panic. who and what describe f for the user; who may be "". The
// caller must hold the lock, and holds it again afterwards.
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

// Go runs f in a new goroutine, to which it lends the lock. It returns when f first releases the lock, or returns; no other goroutine holds
// the lock in between. f may have changed whatever the lock guards. The caller must hold the lock, and holds it again afterwards.
func (m *Monitor) Go(f func()) {
	w := newWaiter(nil)
	m.lenders = append(m.lenders, w)
	go m.run(f)
	<-w.granted
}

// Post runs f in another goroutine, which is queued for the lock now. It returns false after Close.
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

func (m *Monitor) run(f func()) {
	defer m.Unlock()
	m.Guard(f)
}

// Guard calls f, and Hooks.Panicked if f panics. The caller must hold the lock.
func (m *Monitor) Guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			m.hooks.Panicked(p)
		}
	}()
	f()
}

// End makes present and future calls of WaitFor return err. The caller must hold the lock.
func (m *Monitor) End(err error) { m.ended = err }

// WaitIdle waits until nothing runs in Unlocked and the queue for the lock is empty. The caller must hold the lock, and holds it
// again afterwards.
func (m *Monitor) WaitIdle() {
	_ = m.Await(context.Background(), func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.outside == 0 && len(m.queue) == 0
	})
}

// Close waits until the Monitor is idle, and closes it: the lock cannot be taken any more. The caller must hold it.
func (m *Monitor) Close() {
	for !m.closed {
		m.WaitIdle()
		m.mu.Lock()
		m.closed = len(m.queue) == 0
		m.mu.Unlock()
	}
}

// Waits describes those that wait for a condition or run in Unlocked, the oldest first. The caller must hold the lock.
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

// satisfied returns the oldest waiter that may proceed, nil for none.
func (m *Monitor) satisfied() *waiter {
	for _, w := range m.waiters {
		if m.proceeds(w) {
			return w
		}
	}
	return nil
}

// proceeds evaluates a waiter's condition and reports whether it may proceed.
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

// forget removes a waiter.
func (m *Monitor) forget(w *waiter) { m.waiters = without(m.waiters, w) }

func without(list []*waiter, w *waiter) []*waiter {
	return slices.DeleteFunc(list, func(other *waiter) bool { return other == w })
}

// enqueue gives w the lock if it is free, else queues w for it, unless w has it already. It returns false after Close.
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

// give gives w the lock. The caller must hold mu.
func (w *waiter) give() {
	w.given = true
	w.granted <- struct{}{}
}

// hand gives the lock to w, or if that is nil to the first in the queue.
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
