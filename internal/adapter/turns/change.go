package turns

import (
	"slices"
	"time"
)

// Change is something that the user wants done between prompts: a change of settings, a load, a copy, a look at the whole conversation. It
// waits in the queue with them, see awaits.
type Change struct {
	of    Scope
	place uint64
	begun bool
}

// ModelCallTime is how long droid may take from the beginning of a prompt to its first call of
// the model. Some 20 ms were seen, on a busy machine 0.3 s.
const ModelCallTime = 2 * time.Second

// Begin says that the turn of a change has come: it is Begun. FinishChange follows.
type Begin struct{ Change *Change }

func (Begin) action() {}

// Change queues a change. After Close nothing begins.
func (m *Machine) Change(of Scope) (*Change, []Action) {
	c := &Change{of: of, place: m.nextPlace()}
	m.changes = append(m.changes, c)
	return c, m.flush()
}

// FinishChange says that a change is over, whether it had begun or not. failed is nil, or why the prompts that were meant for
// it are not to be sent: those that were asked since then end with it.
func (m *Machine) FinishChange(c *Change, failed error) []Action {
	if !m.leaveOut(c) {
		return nil
	}
	if failed != nil {
		m.failSince(c.place, failed)
	}
	m.steer()
	return m.flush()
}

// Failing says that the change of a Setting that runs fails. It is not over with the command, but when FinishChange
// says so. It returns nil if no such command runs.
func (m *Machine) Failing(id ID) *Change {
	p := m.running()
	if p == nil || p.id != id || p.kind != Setting {
		return nil
	}
	c := &Change{of: General, place: p.place, begun: true}
	m.changes = slices.Insert(m.changes, 0, c)
	return c
}

// LoseChanges ends all changes but those of waiting commands, since their progress is unknown, and with the error why the prompts that
// waited for them. The running command ends by itself.
func (m *Machine) LoseChanges(why error) []Action {
	if p := m.running(); p != nil {
		m.Failing(p.id)
	}
	if len(m.changes) > 0 {
		place := m.changes[0].place
		m.changes = nil
		m.failSince(place, why)
		m.steer()
	}
	return m.flush()
}

// Begun reports whether the change's turn has come.
func (c *Change) Begun() bool { return c.begun }

// Pending reports whether a change waits or is under way.
func (m *Machine) Pending(c *Change) bool { return slices.Contains(m.changes, c) }

// Changing is how many changes wait or are under way.
func (m *Machine) Changing() int {
	n := len(m.changes)
	for _, p := range m.queue {
		if p.kind == Setting {
			n++
		}
	}
	return n
}

func (m *Machine) leaveOut(c *Change) bool {
	i := slices.Index(m.changes, c)
	if i < 0 {
		return false
	}
	m.changes = slices.Delete(m.changes, i, i+1)
	return true
}

// failSince ends the waiting prompts that were asked after a place.
func (m *Machine) failSince(place uint64, why error) {
	since := func(p *prompt) bool { return p.stage == waiting && p.place > place }
	for p := m.first(since); p != nil; p = m.first(since) {
		m.fail(p, why)
	}
}

// startChange begins the first change if it need not wait. At most one begins, because a change waits for those before it, see awaits.
func (m *Machine) startChange() {
	if m.closed || m.dead {
		return
	}
	for _, c := range m.changes {
		if !c.begun && !m.waits(c.of, c.place) {
			c.begun = true
			m.do(Begin{c})
		}
	}
}

// modelCallDue is when the model is taken to have been called for the running prompt, if a change
// waits for that.
func (m *Machine) modelCallDue() (at time.Time, ok bool) {
	r := m.running()
	if r == nil || r.begun.IsZero() || r.modelCalled || m.closed || len(m.changes) == 0 || m.changes[0].begun {
		return time.Time{}, false
	}
	return r.begun.Add(ModelCallTime), m.waits(m.changes[0].of, m.changes[0].place)
}
