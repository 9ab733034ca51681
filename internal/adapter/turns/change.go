package turns

import (
	"slices"
	"time"
)

// Change is something that the user wants done between prompts: a change of settings, a
// load, a copy, a look at the whole conversation. What was asked first holds first: it
// begins when droid has all prompts that were asked before it, and those that come after
// it wait for its end. While droid works on a prompt, it begins at once, before the prompts
// that still wait: the user wants it now. Changes are made one after the other.
type Change struct {
	by    *prompt // the command that makes the change, and whose end is its end; nil for all others
	of    Sphere
	place uint64
	begun bool
}

// Sphere is what a change is about.
type Sphere int

const (
	// Session is all but the next ones.
	Session Sphere = iota
	// Calls are the calls of the model: which model, with which effort. A prompt's first call
	// comes some time after droid has begun with it and would follow the change (0.99 to
	// 0.225). Nothing but the model's answer tells that it was made; where that takes longer
	// than CallTime, the user need not wait for it.
	Calls
	// Stricter is a mode that asks for more than the one that holds, where no change was asked before it.
	Stricter
)

// progress is how far a prompt is for the changes that were asked behind it.
type progress int

const (
	inLine   progress = iota // those before it run
	prepared                 // its turn has come, and droid was not asked: trust, MCP servers, links
	onItsWay                 // droid was asked
	withIt                   // droid has it
	worksOn                  // droid has begun to work on it
	called                   // the model was called for it
)

// awaits says which change waits for a prompt that was asked before it, and how long. What passes a prompt that droid
// does not have is the one exception to "first asked, first held". No change passes another one.
var awaits = [...][called + 1]bool{
	//         in line, prepared, on its way, with droid, begun, model called
	Session:  {true, true, true, true, false, false},
	Calls:    {true, true, true, true, true, false},
	Stricter: {false, false, true, true, false, false},
}

func (p *prompt) progress() progress {
	switch {
	case p.spoke || p.called:
		return called
	case !p.begun.IsZero():
		return worksOn
	}
	return map[stage]progress{waiting: inLine, starting: prepared, sent: onItsWay, taken: withIt}[p.stage]
}

// CallTime is how long droid may take from the beginning of a prompt to its first call of
// the model. Some 20 ms were seen, on a busy machine 0.3 s.
const CallTime = 2 * time.Second

// Begin says that the turn of a change has come: it is Begun. Changed follows.
type Begin struct{ Change *Change }

func (Begin) action() {}

// nextPlace is the place of what is asked now, among all that is asked.
func (m *Machine) nextPlace() uint64 {
	m.places++
	return m.places
}

// Change takes a change. After Close nothing begins.
func (m *Machine) Change(of Sphere) (*Change, []Action) {
	c := &Change{of: of, place: m.nextPlace()}
	m.changes = append(m.changes, c)
	return c, m.take()
}

// Changed says that a change is over. failed is nil, or why the prompts that were meant for
// it are not to be sent: those that were asked since then end with it.
func (m *Machine) Changed(c *Change, failed error) []Action {
	if !m.leaveOut(c) {
		return nil
	}
	if failed != nil {
		m.failSince(c.place, failed)
	}
	m.goOn()
	return m.take()
}

// Failing says that the change of a Setting that runs fails. It is not over with the command, but when Changed
// says so.
func (m *Machine) Failing(id ID) *Change {
	i := slices.IndexFunc(m.changes, func(c *Change) bool { return c.by != nil && c.by.id == id })
	if i < 0 {
		return nil
	}
	m.changes[i].by = nil
	return m.changes[i]
}

// Withdraw takes back a change that has not begun. It reports false when it has, or is over.
func (m *Machine) Withdraw(c *Change) (ok bool, actions []Action) {
	if c.begun || !m.leaveOut(c) {
		return false, nil
	}
	m.goOn()
	return true, m.take()
}

// LoseChanges ends all changes but those of commands that wait, as nobody knows any more how far they are, and with why
// the prompts that waited for them.
func (m *Machine) LoseChanges(why error) []Action {
	known := func(c *Change) bool { return c.by != nil && c.by != m.running }
	if i := slices.IndexFunc(m.changes, func(c *Change) bool { return !known(c) }); i >= 0 {
		place := m.changes[i].place
		m.changes = slices.DeleteFunc(m.changes, func(c *Change) bool { return !known(c) })
		m.failSince(place, why)
		m.goOn()
	}
	return m.take()
}

// Begun reports whether the change's turn has come.
func (c *Change) Begun() bool { return c.begun }

// Takes reports whether a change waits or is under way.
func (m *Machine) Takes(c *Change) bool { return slices.Contains(m.changes, c) }

// Changing is how many changes wait or are under way.
func (m *Machine) Changing() int { return len(m.changes) }

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
	for {
		i := slices.IndexFunc(m.queue, func(p *prompt) bool { return p.place > place })
		if i < 0 {
			return
		}
		m.fail(m.queue[i], why)
	}
}

// goOn lets go on what waited for a change.
func (m *Machine) goOn() {
	m.next()
	m.steer()
}

// heldByChange reports whether a waiting prompt was asked after a change that is not over. A
// message that is left of a prompt whose turn is over does not wait for a change that has not
// begun, as the prompts that such a one waits for stand behind the message.
func (m *Machine) heldByChange(p *prompt) bool {
	if len(m.changes) == 0 || m.changes[0].place >= p.place {
		return false
	}
	return p.host == nil || m.running != nil || m.changes[0].begun
}

// beginChange begins the first change when its turn has come.
func (m *Machine) beginChange() {
	if m.closed || m.dead || len(m.changes) == 0 {
		return
	}
	if c := m.changes[0]; c.by != nil {
		c.begun = m.running == c.by
	} else if !c.begun && !m.awaitsPrompts(c) {
		c.begun = true
		m.do(Begin{c})
	}
}

// awaitsPrompts reports whether a change waits for prompts that were asked before it: for messages that are on their
// way to droid, and for the prompt that runs. Only where none does, or a command that is answered here, the
// first one in line counts.
func (m *Machine) awaitsPrompts(c *Change) bool {
	before := func(p *prompt) bool { return p.place < c.place && !p.cancelled }
	if slices.ContainsFunc(m.steered, func(p *prompt) bool { return p.stage == sent && before(p) }) {
		return true
	}
	switch r := m.running; {
	case r == nil || r.kind == Here || r.kind == Setting:
		return slices.ContainsFunc(m.queue, before) && awaits[c.of][inLine]
	case r.kind == Process:
		return false
	default:
		return before(r) && awaits[c.of][r.progress()]
	}
}

// callDue is when the model is taken to have been called for the running prompt, if a change
// waits for that.
func (m *Machine) callDue() (at time.Time, ok bool) {
	r := m.running
	if r == nil || r.begun.IsZero() || r.called || m.closed || len(m.changes) == 0 || m.changes[0].begun {
		return time.Time{}, false
	}
	return r.begun.Add(CallTime), m.awaitsPrompts(m.changes[0])
}
