package turns

import (
	"cmp"
	"slices"
)

// MaxCrashes is how often in a row droid may die before it is not started again. A
// turn that droid completes starts the count again.
const MaxCrashes = 3

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
