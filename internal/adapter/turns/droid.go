package turns

import (
	"cmp"
	"slices"
	"time"
)

// What droid says of the prompts that it has, and its end.

// MaxCrashes is how often in a row droid may die before it is not started again. A
// turn that droid completes starts the count again.
const MaxCrashes = 3

// Started says that droid works on the prompt with this request id, which need not be
// the one that is taken for the running one.
func (m *Machine) Started(now time.Time, request string) {
	p := m.byRequest(request)
	if p != nil && p.begun.IsZero() {
		p.begun = now
	}
	if p != nil && p != m.running() {
		m.remove(p)
		m.queue = slices.Insert(m.queue, 0, p)
		m.promoted()
	}
	m.flush()
}

// Folded says that droid took a prompt into the turn that runs. It ends with that
// turn, which answers it. The result says whether there is such a prompt.
func (m *Machine) Folded(request string) bool {
	p := m.byRequest(request)
	if p == nil || p == m.running() {
		return false
	}
	p.spoke, p.modelCalled, p.folded = true, true, true
	return true
}

// Shown reports that output of droid was shown while the running prompt runs. Before droid has begun with that prompt, the output belongs
// to a turn of droid's own.
func (m *Machine) Shown() {
	if p := m.running(); p != nil {
		p.spoke, p.modelCalled = true, p.modelCalled || !p.begun.IsZero()
	}
	m.flush()
}

// Ended says that droid ended the prompt with this request id; why is the reason of
// one that failed. It is ignored if there is no such prompt, as for a turn of droid's own.
func (m *Machine) Ended(request string, how How, why error) {
	if p := m.byRequest(request); p != nil {
		p.reached = true // also where its answer to Send is still on its way
		e := m.endOf(p, how, why)
		e.ByDroid = p == m.running()
		m.finish(p, e)
	}
	m.flush()
}

// endOf returns the end of a prompt whose turn droid has ended. A turn that droid completed before it died is complete.
func (m *Machine) endOf(p *prompt, how How, why error) End {
	switch {
	case p.cancelled:
		// ACP: after session/cancel the answer is "cancelled", also when droid completed
		// or failed in the meantime.
		return End{Cancelled: true}
	case how == Failed:
		return End{Err: cmp.Or(p.crash, why)}
	case how == Cancelled && p.interrupted && !p.folded:
		return End{Err: ErrInterrupted}
	case how == Cancelled:
		return End{Cancelled: true}
	}
	m.crashes = 0
	// What the turn of another prompt said answers this one, too.
	return End{Empty: !p.spoke && p == m.running()}
}

// withdraw asks droid for a cancelled prompt back that it has not begun with. It throws such a prompt away itself
// where the running one is stopped.
func (m *Machine) withdraw(p *prompt) {
	if r := m.running(); p.cancelled && p.host == nil && p != r && r != nil && !r.cancelled && p.stage == taken && !p.folded && p.begun.IsZero() {
		m.do(Withdraw{p.request})
	}
}

// Withdrawn reports that droid has answered Withdraw. The answer is the same for a prompt that it works on, which it has reported before.
func (m *Machine) Withdrawn(request string) {
	if p := m.byRequest(request); p != nil && p.cancelled && p.begun.IsZero() && !p.folded {
		m.do(Forget{request})
		m.finish(p, End{Cancelled: true})
	}
	m.flush()
}

// Dropped says that droid threw a prompt away, which it does with what waits when it
// is interrupted. A prompt that the user did not cancel is sent again, before those
// that came later.
func (m *Machine) Dropped(request string) {
	if p := m.byRequest(request); p != nil {
		p.reached = false
		if p.cancelled || m.closed {
			m.finish(p, End{Cancelled: true, ByDroid: p == m.running()})
		} else {
			m.putBack(p, again)
		}
	}
	m.flush()
}

// putBack makes a prompt that droid did not keep wait again, before its messages and before later prompts.
func (m *Machine) putBack(p *prompt, why retry) {
	ran := m.running() == p
	m.remove(p)
	p.stage, p.delivery, p.retry = waiting, delivery{}, max(p.retry, why)
	at := slices.IndexFunc(m.queue, func(q *prompt) bool { return q.stage == waiting && q.host == p })
	if at < 0 {
		at = m.front()
	}
	m.queue = slices.Insert(m.queue, at, p)
	if ran {
		m.promoted()
	}
}

// DroidExited reports that droid died, and why. DroidExitHandled follows: what droid said last may still end prompts. accepted is the
// request ID of the last prompt that droid accepted, for which Taken may not have been called yet. fault reports whether that is droid's
// fault, so that it counts as a crash. The preparation of a prompt that waits again is ignored (Ready, Fail) until NeedDroid has it prepared
// again.
func (m *Machine) DroidExited(accepted string, fault bool, why error) {
	m.exited = true
	if fault {
		m.crashes++
	}
	// At most one is not accepted, the newest that was sent: another one is sent in addition only when droid has accepted that.
	for _, p := range slices.Clone(m.queue) {
		switch {
		case !p.mayRepeat(accepted):
		case p.stage == starting:
			m.putBack(p, again)
		case p.retry != resent:
			m.putBack(p, resent)
		}
	}
	for _, p := range m.queue {
		if p.stage != waiting {
			p.crash = why
		}
	}
}

// mayRepeat reports whether a prompt is for the next droid, since the one that died had not accepted it. One that was sent is
// sent again once, since droid does not read what arrives in the milliseconds in which it dies.
func (p *prompt) mayRepeat(accepted string) bool {
	return (p.stage == starting || p.stage == sent) && !p.cancelled && p.begun.IsZero() && (accepted == "" || p.request != accepted)
}

// DroidExitHandled says that all output of the dead droid was handled. It fails the prompts that droid had, and the command that runs, but
// for a program of the user's and a command that Keep protects.
func (m *Machine) DroidExitHandled(why error) {
	for p := m.running(); p != nil && p.kind != Process && p.stage != committed; p = m.running() {
		m.fail(p, why)
	}
	m.exited = false
	m.flush()
}

// ResetCrashes starts the count of crashes again.
func (m *Machine) ResetCrashes() { m.crashes = 0 }
