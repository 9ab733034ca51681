package turns

import "slices"

// GaveUp reports whether droid died so often in a row that it is not to be started
// again.
func (m *Machine) GaveUp() bool { return m.crashes >= MaxCrashes }

// Crashed reports whether droid died since it completed a turn.
func (m *Machine) Crashed() bool { return m.crashes > 0 }

// Running returns the prompt that runs, if one does.
func (m *Machine) Running() (id ID, ok bool) {
	if p := m.running(); p != nil {
		return p.id, true
	}
	return 0, false
}

// Runs reports whether a prompt is the one that runs.
func (m *Machine) Runs(id ID) bool {
	p := m.running()
	return p != nil && p.id == id
}

// RunsOne reports whether a prompt runs.
func (m *Machine) RunsOne() bool { return m.running() != nil }

// RefusesQuestions reports whether what droid asks is to be refused: the prompt that it has was cancelled, or what it does without one is
// being stopped.
func (m *Machine) RefusesQuestions() bool {
	if p := m.running(); p != nil && p.withDroid() {
		return p.cancelled
	}
	return m.interrupts > 0
}

// Busy reports whether a prompt runs or waits here.
func (m *Machine) Busy() bool { return len(m.queue) > 0 }

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
	return p != nil && p.cancelled
}

// Stopping reports whether the running prompt is for droid, was cancelled, and has not ended.
func (m *Machine) Stopping() bool {
	p := m.running()
	return p != nil && p.cancelled && p.toDroid()
}

// Working reports whether droid has, or is being sent, a prompt that was not cancelled.
func (m *Machine) Working() bool {
	p := m.running()
	return p != nil && !p.cancelled && p.withDroid()
}

// Sending reports whether the running prompt was sent to droid, which has not taken it.
func (m *Machine) Sending() bool {
	p := m.running()
	return p != nil && p.stage == sent
}

// Waiting returns how many prompts wait, or are with droid in addition to the running one.
func (m *Machine) Waiting() int {
	if m.running() != nil {
		return len(m.queue) - 1
	}
	return len(m.queue)
}

// InLine reports whether a prompt waits for its turn here.
func (m *Machine) InLine(id ID) bool {
	return slices.ContainsFunc(m.queue, func(p *prompt) bool { return p.id == id && p.stage == waiting })
}

// Queued reports whether prompts wait for their turn here.
func (m *Machine) Queued() bool { return m.firstWaiting() != nil }

// Idle reports whether no prompt runs or waits, no change is wanted, and RPC is free.
func (m *Machine) Idle() bool {
	return len(m.queue) == 0 && len(m.changes) == 0 && m.RPC.Holder() == nil
}

// find finds a prompt that runs, or that droid has or had.
func (m *Machine) find(id ID) *prompt {
	if p := m.first(func(p *prompt) bool { return p.id == id && p.stage != waiting }); p != nil {
		return p
	}
	if i := slices.IndexFunc(m.lingering, func(p *prompt) bool { return p.id == id }); i >= 0 {
		return m.lingering[i]
	}
	return nil
}

// byRequest finds a prompt that droid has.
func (m *Machine) byRequest(request string) *prompt {
	return m.first(func(p *prompt) bool { return p.withDroid() && p.request == request })
}

func (m *Machine) first(is func(*prompt) bool) *prompt {
	if i := slices.IndexFunc(m.queue, is); i >= 0 {
		return m.queue[i]
	}
	return nil
}

// remove takes a prompt out of the queue.
func (m *Machine) remove(p *prompt) {
	m.queue = slices.DeleteFunc(m.queue, func(q *prompt) bool { return q == p })
}
