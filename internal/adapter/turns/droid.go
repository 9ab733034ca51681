package turns

import "slices"

// MaxCrashes is how often in a row droid may die before it is not started again. A
// turn that droid completes starts the count anew.
const MaxCrashes = 3

// Spoke says that something of droid's was shown while the running prompt runs. Before droid has begun with that, it is of a turn
// of its own.
func (m *Machine) Spoke() []Action {
	if p := m.running; p != nil {
		p.spoke, p.called = true, p.called || !p.begun.IsZero()
	}
	return m.take()
}

// Ended says that droid ended the prompt with this request id; why is the reason of
// one that failed. The result tells whether there is such a prompt: a turn of droid's
// own has none.
func (m *Machine) Ended(request string, how How, why error) (known bool, actions []Action) {
	p := m.byRequest(request)
	if p == nil {
		return false, nil
	}
	p.reached = true // also where its answer to Send is still on its way
	e := m.endOf(p, how, why)
	e.ByDroid = p == m.running
	m.finish(p, e)
	return true, m.take()
}

// endOf is how a prompt ends that droid ended.
func (m *Machine) endOf(p *prompt, how How, why error) End {
	switch {
	case p.cancelled:
		// ACP: after session/cancel the answer is "cancelled", also when droid completed
		// or failed in the meantime.
		return End{Cancelled: true}
	case p.crash != nil:
		return End{Err: p.crash}
	case how == Failed:
		return End{Err: why}
	case how == Cancelled:
		return End{Cancelled: true}
	}
	m.crashes = 0
	// What the turn of another prompt said answers this one, too.
	return End{Empty: !p.spoke && p == m.running}
}

// Gone says that droid died, and why. What it said last may still end prompts, as
// far as they were cancelled; Buried follows. A droid that dies while a cancelled
// prompt runs was most likely killed because it did not stop. A prompt that droid had not
// taken goes to the next one, once: what is asked in the ms in which droid dies is not heard.
// took is the request id of the last one that it took, of which Taken may not have been told yet.
func (m *Machine) Gone(took string, why error) {
	m.dead = true
	if m.running == nil || !m.running.cancelled {
		m.crashes++
	}
	if p := m.running; p != nil && p.kind == ToDroid && p.stage != taken && (took == "" || p.request != took) && p.begun.IsZero() && !p.cancelled && !p.resent {
		p.resent = p.stage == sent // another droid is started for one that was not sent, as often as for any
		m.putBack(p)
	}
	for _, p := range append([]*prompt{m.running}, m.steered...) {
		if p != nil {
			p.crash = why
		}
	}
}

// Buried ends all that the dead droid had, or was to get. A program of the user's goes
// on, and so does a command that is kept.
func (m *Machine) Buried(why error) []Action {
	for m.running != nil && m.running.kind != Process && !m.running.kept {
		m.fail(m.running, why)
	}
	m.dead = false
	return m.take()
}

// GaveUp reports whether droid died so often in a row that it is not to be started
// again.
func (m *Machine) GaveUp() bool { return m.crashes >= MaxCrashes }

// Crashed reports whether droid died since it completed a turn.
func (m *Machine) Crashed() bool { return m.crashes > 0 }

// Forgive starts the count of crashes anew.
func (m *Machine) Forgive() { m.crashes = 0 }

// Running returns the prompt that runs, if one does.
func (m *Machine) Running() (id ID, ok bool) {
	if m.running == nil {
		return 0, false
	}
	return m.running.id, true
}

// Runs reports whether a prompt is the one that runs.
func (m *Machine) Runs(id ID) bool { return m.running != nil && m.running.id == id }

// RunsOne reports whether a prompt runs.
func (m *Machine) RunsOne() bool { return m.running != nil }

// Stops reports whether the prompt that runs was cancelled, or what droid does without one is being stopped.
func (m *Machine) Stops() bool {
	if m.running == nil {
		return m.interrupts > 0
	}
	return m.running.cancelled
}

// Busy reports whether a prompt runs or waits here.
func (m *Machine) Busy() bool { return m.running != nil || len(m.queue) > 0 }

// IDOf returns the prompt that droid has under a request id, if there is one.
func (m *Machine) IDOf(request string) (id ID, ok bool) {
	if p := m.byRequest(request); p != nil {
		return p.id, true
	}
	return 0, false
}

// Has reports whether a prompt waits or runs, or droid has it.
func (m *Machine) Has(id ID) bool {
	if m.find(id) != nil || m.parkedAs(id) != nil {
		return true
	}
	return m.InLine(id)
}

// Cancelled reports whether a prompt was cancelled that has not ended.
func (m *Machine) Cancelled(id ID) bool {
	p := m.find(id)
	if p == nil {
		p = m.parkedAs(id)
	}
	return p != nil && p.cancelled
}

// Stopping reports whether the running prompt was cancelled and droid works on it.
func (m *Machine) Stopping() bool {
	return m.running != nil && m.running.cancelled && m.running.kind == ToDroid
}

// Working reports whether droid works on a prompt that nobody cancelled.
func (m *Machine) Working() bool {
	return m.running != nil && !m.running.cancelled && m.running.stage == taken
}

// Waiting is how many prompts wait, or are with droid beside the running one.
func (m *Machine) Waiting() int { return len(m.queue) + len(m.steered) }

// InLine reports whether a prompt waits for its turn here.
func (m *Machine) InLine(id ID) bool {
	return slices.ContainsFunc(m.queue, func(p *prompt) bool { return p.id == id })
}

// Queued reports whether prompts wait for their turn here.
func (m *Machine) Queued() bool { return len(m.queue) > 0 }

// Idle reports whether no prompt runs or waits, and no change is wanted.
func (m *Machine) Idle() bool {
	return m.running == nil && len(m.queue) == 0 && len(m.changes) == 0
}
