package turns

import (
	"slices"
	"time"
)

// SetSteering says whether waiting prompts go to droid while another one runs.
func (m *Machine) SetSteering(on bool) {
	m.steering = on
	m.steer()
	m.flush()
}

// steer gives the next waiting prompt to droid while a turn runs, once droid has accepted the one before, which keeps their order. A prompt
// that is answered here waits for its turn, and so does everything behind it.
func (m *Machine) steer() {
	r, p := m.running(), m.firstWaiting()
	if m.exited || m.paused || m.closed || r == nil || r.stage != taken || p == nil {
		return
	}
	if p.toDroid() && m.mayJoinNow(p) && !m.waits(joining, p.place) {
		m.send(p)
	}
}

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

// When is when a message that belongs to a prompt goes to droid.
type When int

const (
	// Soon is while droid works on the prompt, as soon as it takes one. droid takes such
	// a message into the turn that runs, or runs it next.
	Soon When = iota
	// Behind is when droid has ended the turn that it works on, before all prompts that
	// wait. Words of the user's with a refusal go there: droid ends its turn then (0.99
	// to 0.225).
	Behind
)

// Join adds a message of the user's to the prompt that Host returns, under its own id: droid gets it like a prompt, and the prompt ends
// when droid has ended its turn and those of all such messages. The action Merged ends the message. Joinable must be true.
func (m *Machine) Join(id ID, when When) {
	p := &prompt{id: id, host: m.running().root(), when: when, place: m.nextPlace()}
	if m.running().kind == Alone {
		p.when = Behind
	}
	m.queue = slices.Insert(m.queue, m.front(), p)
	m.steer()
	m.flush()
}

// Joinable reports whether Join takes a message now: an uncancelled prompt for the model runs.
func (m *Machine) Joinable() bool {
	r := m.running()
	return r != nil && r.toDroid() && !r.root().cancelled && !r.cancelled && r.crash == nil && !m.exited && !m.closed
}

// Host returns the prompt to which a message belongs that joins now. Joinable must be true.
func (m *Machine) Host() ID { return m.running().root().id }

// root returns the prompt that a message belongs to, or the prompt itself.
func (p *prompt) root() *prompt {
	if p.host != nil {
		return p.host
	}
	return p
}

// front returns where the queue's ordinary prompts begin: behind those that droid threw away
// and the messages that belong to a prompt.
func (m *Machine) front() int {
	at := slices.IndexFunc(m.queue, func(q *prompt) bool { return q.stage == waiting && q.retry == never && q.host == nil })
	if at < 0 {
		return len(m.queue)
	}
	return at
}

// mayJoinNow reports whether a waiting prompt may go to droid while another one runs.
func (m *Machine) mayJoinNow(p *prompt) bool {
	if p.host == nil {
		return m.steering && p.kind != Alone && m.running().kind != Alone
	}
	return p.when == Soon
}

// settle ends a prompt whose turn is over, unless messages that belong to it are still
// on their way. The end of the last one is its end, but for the first failure.
func (m *Machine) settle(p *prompt, e End) {
	if p.host != nil {
		m.merge(p, e)
		return
	}
	if e.Err != nil || e.Cancelled && p.cancelled {
		m.leaveUnsent(p, e.Err)
	}
	if m.messagesOf(p) == 0 {
		m.doEnd(p, e)
		return
	}
	if p.stage = lingering; p.failed == nil {
		p.failed = e.Err
	}
	m.lingering = append(m.lingering, p)
}

// merge ends a message that belongs to a prompt, and that prompt with it if nothing else
// of it is left.
func (m *Machine) merge(p *prompt, e End) {
	host := p.host
	m.do(Merged{ID: p.id, Err: e.Err, Unsent: !p.reached})
	if host.stage != lingering {
		if host.failed == nil && p.reached {
			host.failed = e.Err
		}
		return
	}
	if host.failed == nil {
		host.failed = e.Err
	}
	if e.Err != nil {
		m.leaveUnsent(host, e.Err)
	}
	if m.messagesOf(host) > 0 {
		return
	}
	m.removeLingering(host)
	m.doEnd(host, e)
}

func (m *Machine) removeLingering(host *prompt) {
	m.lingering = slices.DeleteFunc(m.lingering, func(q *prompt) bool { return q == host })
}

// leaveUnsent ends the messages of a prompt that wait here, as what they were said to is
// over: it failed with why, or was cancelled.
func (m *Machine) leaveUnsent(host *prompt, why error) {
	unsent := func(q *prompt) bool { return q.stage == waiting && q.host == host }
	for p := m.first(unsent); p != nil; p = m.first(unsent) {
		m.remove(p)
		m.do(Merged{ID: p.id, Err: why, Unsent: !p.reached})
	}
}

// messagesOf returns how many messages of a prompt have not ended.
func (m *Machine) messagesOf(host *prompt) (n int) {
	for _, p := range m.queue {
		if p.host == host {
			n++
		}
	}
	return n
}

// cancelMessages cancels the messages of a prompt that was cancelled: those that wait end, and those that droid
// has are stopped with the turn that runs.
func (m *Machine) cancelMessages(now time.Time, host *prompt) {
	m.leaveUnsent(host, nil)
	r := m.running()
	for _, p := range m.queue {
		if p.host == host && p != r {
			p.cancelled = true
		}
	}
	if r != nil && r.host == host {
		m.cancelRunning(now)
	}
	if slices.Contains(m.lingering, host) && m.messagesOf(host) == 0 { // else that has ended it
		m.removeLingering(host)
		m.doEnd(host, End{})
	}
}
