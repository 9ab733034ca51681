package turns

import "slices"

// GaveUp reports whether droid died so often in a row that it is not to be started
// again.
func (m *Machine) GaveUp() bool { return m.crashes >= MaxCrashes }

// Crashed reports whether droid died since it completed a turn.
func (m *Machine) Crashed() bool { return m.crashes > 0 }

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

// RefusesAsks reports whether what droid asks is to be refused: the prompt that runs was cancelled, or what droid does without one is
// being stopped.
func (m *Machine) RefusesAsks() bool {
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

// Working reports whether droid has, or is being sent, a prompt that nobody cancelled.
func (m *Machine) Working() bool {
	return m.running != nil && !m.running.cancelled && m.running.withDroid()
}

// Sending reports whether the running prompt was sent to droid, which has not taken it.
func (m *Machine) Sending() bool { return m.running != nil && m.running.stage == sent }

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

// promote makes the oldest prompt that droid still has the running one.
func (m *Machine) promote() {
	if m.running == nil && len(m.steered) > 0 {
		p := m.steered[0]
		m.steered = m.steered[1:]
		m.run(p)
	}
}

// run makes a prompt that droid has the running one. One that was cancelled before is
// interrupted now that droid can hear it; with the next Tick, as it may end together
// with the turn before.
func (m *Machine) run(p *prompt) {
	m.running = p
	if p.cancelled && !p.stopping.begun() {
		p.stopping.due = true
	}
}

// find finds a prompt that runs, or that droid has.
func (m *Machine) find(id ID) *prompt {
	return m.one(func(p *prompt) bool { return p.id == id })
}

// byRequest finds a prompt that droid has.
func (m *Machine) byRequest(request string) *prompt {
	return m.one(func(p *prompt) bool { return p.withDroid() && p.request == request })
}

func (m *Machine) one(is func(*prompt) bool) *prompt {
	if m.running != nil && is(m.running) {
		return m.running
	}
	if i := slices.IndexFunc(m.steered, is); i >= 0 {
		return m.steered[i]
	}
	return nil
}

// remove takes a prompt from where it stands.
func (m *Machine) remove(p *prompt) {
	is := func(q *prompt) bool { return q == p }
	m.queue = slices.DeleteFunc(m.queue, is)
	m.steered = slices.DeleteFunc(m.steered, is)
	if m.running == p {
		m.running = nil
	}
}

// parkedAs finds a prompt whose turn is over and whose messages are not.
func (m *Machine) parkedAs(id ID) *prompt {
	if i := slices.IndexFunc(m.lingering, func(p *prompt) bool { return p.id == id }); i >= 0 {
		return m.lingering[i]
	}
	return nil
}
