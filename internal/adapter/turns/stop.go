package turns

import (
	"errors"
	"slices"
	"time"
)

// A droid that is asked to stop is asked again, since 0.99 loses an
// interrupt that follows its prompt at once (quirk 5). One that does not stop at all,
// as 0.99 does on huge lines (quirk 25), is killed.
const (
	interruptAgain   = 200 * time.Millisecond // then twice as long each time
	interruptAgainTo = 1600 * time.Millisecond
	// Patience is how long a droid may take to stop before it is killed.
	Patience = 8 * time.Second
)

// ErrInterrupted is the error of a prompt that an interrupt for the one before it has stopped: droid had just ended that.
var ErrInterrupted = errors.New("droid stopped this prompt with the one before it, which was cancelled")

// patience is how far the stopping of a cancelled prompt is.
type patience struct {
	due       bool          // the first interrupt is due
	at        time.Time     // of the next interrupt; zero when none is due
	every     time.Duration // between the last and the next
	end       time.Time     // of the patience; zero before the first interrupt
	mayIgnore bool          // an interrupt may not reach the prompt (quirk 31), so the patience ends with the first repetition
}

func (s *patience) begun() bool { return !s.end.IsZero() }

// Cancel cancels the prompt that runs and all that wait.
func (m *Machine) Cancel(now time.Time) {
	m.cancel(now)
	m.flush()
}

// StopUnprompted asks droid, once, to stop what it does without a prompt. Where droid has one, Cancel does that.
func (m *Machine) StopUnprompted() {
	if p := m.running(); (p == nil || !p.withDroid()) && m.interrupts == 0 {
		m.interrupts++
		m.do(Interrupt{})
		m.do(RefuseQuestions{})
	}
	m.flush()
}

func (m *Machine) cancel(now time.Time) {
	for _, p := range m.lingering {
		p.cancelled = true
	}
	m.dropWaiting()
	for _, p := range m.queue {
		if p != m.running() {
			p.cancelled = true // the interrupt of the running one makes droid throw it away
		}
	}
	m.cancelRunning(now)
}

// CancelOne cancels one prompt.
func (m *Machine) CancelOne(now time.Time, id ID) {
	p := m.first(func(p *prompt) bool { return p.id == id })
	if p == nil {
		p = m.find(id)
	}
	if p != nil {
		m.cancelOne(now, p)
		m.cancelMessages(now, p)
	}
	m.flush()
}

func (m *Machine) cancelOne(now time.Time, p *prompt) {
	switch {
	case p.stage == waiting:
		m.drop(p)
	case p == m.running():
		m.cancelRunning(now)
	default:
		p.cancelled = true // an interrupt would stop the running one
		m.withdraw(p)
	}
}

// drop ends a waiting prompt, or one that must not continue, as cancelled.
func (m *Machine) drop(p *prompt) {
	p.cancelled = true
	m.finish(p, End{Cancelled: true})
}

// dropWaiting ends all prompts that wait as cancelled.
func (m *Machine) dropWaiting() {
	for p := m.firstWaiting(); p != nil; p = m.firstWaiting() {
		m.drop(p)
	}
}

// Keep protects the running command of ours from a cancel and from droid's death: what it has asked for cannot be undone, so it ends when
// that is done.
func (m *Machine) Keep(id ID) {
	if p := m.running(); p != nil && p.id == id && p.stage == answering {
		p.stage = committed
	}
}

// cancelRunning cancels the prompt that runs. What droid asks while it has not got that prompt is about a turn of its own, see StopUnprompted.
func (m *Machine) cancelRunning(now time.Time) {
	p := m.running()
	if p == nil || p.cancelled {
		return
	}
	p.cancelled = true
	switch {
	case p.kind == Process:
		m.do(Stop{p.id})
	case p.stage == committed: // a cancel does not end it
	case p.stage == starting, p.stage == answering:
		m.finish(p, End{Cancelled: true})
	default:
		m.stopRunning(now)
		m.do(RefuseQuestions{})
	}
}

// stopRunning begins to stop the running prompt, if it is cancelled and droid has it, or is
// about to get it. Until droid has taken what is on its way to it, it is not
// interrupted: it starts a turn with a message that comes behind an interrupt.
// A second call interrupts at once, as droid has accepted something since, and
// repeats that from the shortest interval on, but does not prolong the patience.
func (m *Machine) stopRunning(now time.Time) {
	p := m.running()
	if p == nil || !p.cancelled || !p.withDroid() {
		return
	}
	s := &p.patience
	s.due, s.every, s.at = false, interruptAgain, now.Add(interruptAgain)
	if !s.begun() {
		s.end = now.Add(Patience)
	}
	if s.mayIgnore {
		s.end = s.at
	}
	m.interrupt(p)
}

func (m *Machine) interrupt(p *prompt) {
	onItsWay := func(p *prompt) bool { return p.stage == sent }
	if p.stage == taken && !slices.ContainsFunc(m.queue, onItsWay) {
		m.interrupts++
		m.do(Interrupt{})
		for _, other := range m.queue {
			other.interrupted = other.interrupted || other != p && other.stage == taken
		}
	}
}

// ConcurrentTurn says that the prompt with this request id may hear no interrupt, so that one
// who wants it to stop need not wait (quirk 31).
func (m *Machine) ConcurrentTurn(now time.Time, request string) {
	if p := m.byRequest(request); p != nil {
		p.patience.mayIgnore = true
		if p == m.running() {
			m.stopRunning(now)
		}
	}
	m.flush()
}

// Due returns the time when Tick is wanted next; false when it is not. A time that has passed means
// at once.
func (m *Machine) Due() (at time.Time, ok bool) {
	at, ok = m.stopDue()
	if call, waits := m.modelCallDue(); waits && (!ok || call.Before(at)) {
		return call, true
	}
	return at, ok
}

func (m *Machine) stopDue() (at time.Time, ok bool) {
	p := m.running()
	if p == nil || m.exited {
		return time.Time{}, false
	}
	if p.patience.due {
		return time.Time{}, true
	}
	return p.patience.at, !p.patience.at.IsZero()
}

// Tick repeats an interrupt that had no effect yet, and at last kills droid. It begins a
// change that has waited long enough.
func (m *Machine) Tick(now time.Time) {
	if at, ok := m.modelCallDue(); ok && !now.Before(at) {
		m.running().modelCalled = true
	}
	m.continueStopping(now)
	m.flush()
}

func (m *Machine) continueStopping(now time.Time) {
	at, ok := m.stopDue()
	if !ok || now.Before(at) {
		return
	}
	s := &m.running().patience
	switch {
	case s.due:
		m.stopRunning(now)
	case !now.Before(s.end):
		s.at = time.Time{}
		m.do(Kill{})
	default:
		s.every = min(2*s.every, interruptAgainTo)
		if s.at = now.Add(s.every); s.at.After(s.end) {
			s.at = s.end
		}
		m.interrupt(m.running())
	}
}
