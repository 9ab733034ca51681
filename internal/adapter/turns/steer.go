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

// mayJoinNow reports whether a waiting prompt may go to droid while another one runs.
func (m *Machine) mayJoinNow(p *prompt) bool {
	if p.host == nil {
		return m.steering && p.kind != Alone && m.running().kind != Alone
	}
	return p.when == Soon
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
