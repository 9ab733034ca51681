package turns

// MaxCrashes is how often in a row droid may die before it is not started again. A
// turn that droid completes starts the count again.
const MaxCrashes = 3

// Shown says that something of droid's was shown while the running prompt runs. Before droid has begun with that, it is of a turn
// of its own.
func (m *Machine) Shown() []Action {
	if p := m.running(); p != nil {
		p.spoke, p.called = true, p.called || !p.begun.IsZero()
	}
	return m.take()
}

// Ended says that droid ended the prompt with this request id; why is the reason of
// one that failed. The result says whether there is such a prompt: a turn of droid's
// own has none.
func (m *Machine) Ended(request string, how How, why error) (known bool, actions []Action) {
	p := m.byRequest(request)
	if p == nil {
		return false, nil
	}
	p.reached = true // also where its answer to Send is still on its way
	e := m.endOf(p, how, why)
	e.ByDroid = p == m.running()
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
	return End{Empty: !p.spoke && p == m.running()}
}

// ProcessExited says that droid died, and why. What it said last may still end prompts, as
// far as they were cancelled; OutputRead follows. A droid that dies while a cancelled
// prompt runs was most likely killed because it did not stop. A prompt that was sent to it and that it had not
// taken goes to the next one, once: what is asked in the ms in which droid dies is not heard. One that was not sent goes to the next one
// as often as one is started. took is the request id of the last one that it took, of which Taken may not have been told yet.
func (m *Machine) ProcessExited(took string, why error) {
	m.dead = true
	p := m.running()
	if p == nil || !p.cancelled {
		m.crashes++
	}
	if p != nil && p.toDroid() && p.stage != taken && (took == "" || p.request != took) && p.begun.IsZero() && !p.cancelled {
		switch {
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

// OutputRead ends all that the dead droid had, or was to get. A program of the user's goes
// on, and so does a command that is kept.
func (m *Machine) OutputRead(why error) []Action {
	for p := m.running(); p != nil && p.kind != Process && p.stage != committed; p = m.running() {
		m.fail(p, why)
	}
	m.dead = false
	return m.take()
}

// Forgive starts the count of crashes again.
func (m *Machine) Forgive() { m.crashes = 0 }
