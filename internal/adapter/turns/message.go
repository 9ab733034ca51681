package turns

import (
	"slices"
	"time"
)

// A message belongs to a prompt, its host: what the user says with a refusal, or into the running turn. droid gets it like a prompt, and
// the host ends when its own turn and those of all its messages have ended.

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
