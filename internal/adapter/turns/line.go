package turns

import (
	"slices"
	"time"
)

// All requests to a session are in one queue, in their order: prompts, and changes between them. They take effect in that order.

// Scope is the part of a request that determines what it waits for: the subject of a change, or a prompt. The zero value is none.
type Scope int

const (
	// General is any change that is of no other scope.
	General Scope = iota + 1
	// ModelCalls is a change of the calls of the model: which model, with which effort. A prompt's first call
	// comes some time after droid has begun with it and would follow the change (0.99 to
	// 0.225). Nothing but the model's answer reports that it was made; where that takes longer
	// than ModelCallTime, the user need not wait for it.
	ModelCalls
	// Stricter is a mode that asks for at least as much as the current one, if it waits for no change that was requested before it, and so
	// begins at once. It waits for no prompt: droid may be sent one, and begin with it, while it is under way, and asks before the calls that
	// follow (0.99 to 0.225). So the preparation of a prompt must read the mode again behind each wait.
	Stricter

	turn    // a prompt that begins a turn; those from here on are prompts, those before it changes
	message // a message left over from a prompt whose turn has ended; prompts that a change waits for are behind it
	joining // a prompt or a message that goes to droid while it works on another one
)

// progress is the progress of an earlier request.
type progress int

const (
	unawaited   progress = iota // nothing waits for it: it waits for a prompt or a program that runs, or droid has it in addition to that
	inLine                      // a prompt that waits, and none runs but for a command
	preparing                   // a prompt whose turn has come and that has not been sent to droid, see NeedDroid
	onItsWay                    // droid was asked
	accepted                    // by droid
	worksOn                     // droid has begun to work on it
	modelCalled                 // the model was called for it
	stopping                    // it was cancelled, and has not ended
	command                     // a command of ours that runs
	program                     // a program of the user's that runs
	notBegun                    // a change that waits and may change the mode, also a Setting
	keepsMode                   // a change that waits and keeps the mode, also a ModelSetting
	underWay                    // a change that has begun
	rpcHeld                     // somebody holds Machine.RPC
	most
)

// awaits has, for each Scope, the states of earlier requests in which these are awaited. Requests take effect in the order of their arrival,
// with one exception: while droid works on a prompt, or a program runs, a change begins before the prompts that still wait, since the user
// wants it now. Among themselves prompts keep their order, and so do changes.
//
// For example, droid works on prompt A, prompt B waits, the user asks for another model (ModelCalls), then sends C. The change waits until
// the model was called for A (worksOn), not for B (unawaited). B waits for A; should A end first, B waits while the change has RPC (rpcHeld),
// though it came before the change. C waits for the change (notBegun, underWay), then for A and B. Had nothing run, B would have been inLine,
// and the change behind it; so it is if A ends before the model was called for it. A change of the mode (General) also waits for a cancelled
// prompt to end (stopping): what droid still does for it asks as before.
var awaits = [...][most]bool{
	General:    {inLine: true, preparing: true, onItsWay: true, accepted: true, stopping: true, notBegun: true, keepsMode: true, underWay: true},
	ModelCalls: {inLine: true, preparing: true, onItsWay: true, accepted: true, worksOn: true, notBegun: true, keepsMode: true, underWay: true},
	Stricter:   {notBegun: true, underWay: true}, // neither when it is asked, see scopeOf in adapter/session
	turn:       {preparing: true, onItsWay: true, accepted: true, worksOn: true, modelCalled: true, stopping: true, command: true, program: true, notBegun: true, keepsMode: true, underWay: true, rpcHeld: true},
	message:    {preparing: true, onItsWay: true, accepted: true, worksOn: true, modelCalled: true, stopping: true, command: true, program: true, underWay: true, rpcHeld: true},
	joining:    {preparing: true, onItsWay: true, stopping: true, command: true, program: true, notBegun: true, keepsMode: true, underWay: true},
}

// keepsMode reports whether a change of this scope leaves the mode as it is. Then a change to a stricter mode does not wait for it.
func (of Scope) keepsMode() bool { return of == ModelCalls }

// Setting returns the kind of a command that makes a change of this scope.
func (of Scope) Setting() Kind {
	if of.keepsMode() {
		return ModelSetting
	}
	return Setting
}

// isPrompt reports whether a request is a prompt, not a change.
func (of Scope) isPrompt() bool { return of >= turn }

// nextPlace returns the place of what is asked now, among all that is asked.
func (m *Machine) nextPlace() uint64 {
	m.places++
	return m.places
}

// waits reports whether a request with this place waits for another one. A change waits for earlier requests alone. A prompt also waits for
// later prompts that have begun: it may be one that droid dropped, and that is sent again.
func (m *Machine) waits(of Scope, place uint64) bool {
	row := awaits[of]
	return row[rpcHeld] && m.RPC.Holder() != nil ||
		slices.ContainsFunc(m.changes, func(c *Change) bool { return c.place < place && row[c.progress()] }) ||
		slices.ContainsFunc(m.queue, func(p *prompt) bool {
			return (p.place < place || of.isPrompt() && p.stage != waiting) && row[m.progress(p)]
		})
}

// progress returns how far a prompt in the queue is.
func (m *Machine) progress(p *prompt) progress {
	r := m.running()
	switch {
	case p.kind == Setting && p.stage == waiting:
		return notBegun
	case p.kind == ModelSetting && p.stage == waiting:
		return keepsMode
	case p.kind.IsSetting():
		return underWay
	case p.stage == waiting && (r == nil || r.kind == Here || r.kind.IsSetting()):
		return inLine
	case p.stage == waiting, p != r && p.stage == taken:
		return unawaited
	case p.cancelled:
		return stopping
	case p.kind == Process:
		return program
	case !p.toDroid():
		return command
	case p != r:
		return onItsWay
	case p.modelCalled:
		return modelCalled
	case !p.begun.IsZero():
		return worksOn
	case p.stage == taken:
		return accepted
	case p.stage == sent:
		return onItsWay
	}
	return preparing
}

func (c *Change) progress() progress {
	switch {
	case c.begun:
		return underWay
	case c.of.keepsMode():
		return keepsMode
	}
	return notBegun
}

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

// Change queues a change. After Close nothing begins.
func (m *Machine) Change(of Scope) *Change {
	c := &Change{of: of, place: m.nextPlace()}
	m.changes = append(m.changes, c)
	m.flush()
	return c
}

// FinishChange says that a change is over, whether it had begun or not, also where LoseChanges has ended it. failed is nil, or why the prompts
// that were meant for it are not to be sent: those that were asked since then end with it.
func (m *Machine) FinishChange(c *Change, failed error) {
	m.changes = slices.DeleteFunc(m.changes, func(other *Change) bool { return other == c })
	if failed != nil {
		m.failWaiting(failed, func(p *prompt) bool { return p.place > c.place })
	}
	m.steer()
	m.flush()
}

// LoseChanges ends all changes but those of commands, since their progress is unknown, and with the error why the prompts that waited for
// them.
func (m *Machine) LoseChanges(why error) {
	if len(m.changes) > 0 {
		place := m.changes[0].place
		m.changes = nil
		m.failWaiting(why, func(p *prompt) bool { return p.place > place })
		m.steer()
	}
	m.flush()
}

// Begun reports whether the change's turn has come.
func (c *Change) Begun() bool { return c.begun }

// Pending reports whether a change waits or is under way.
func (m *Machine) Pending(c *Change) bool { return slices.Contains(m.changes, c) }

// Changing returns for how many changes one of this scope waits if it is requested now.
func (m *Machine) Changing(of Scope) int {
	n, row := 0, awaits[of]
	for _, c := range m.changes {
		if row[c.progress()] {
			n++
		}
	}
	for _, p := range m.queue {
		if p.kind.IsSetting() && row[m.progress(p)] {
			n++
		}
	}
	return n
}

// startChange begins the changes that need not wait, at most the first one and a Stricter behind it, see awaits.
func (m *Machine) startChange() {
	if m.closed || m.exited {
		return
	}
	for _, c := range m.changes {
		if !c.begun && !m.waits(c.of, c.place) {
			c.begun = true
			m.do(Begin{c})
		}
	}
}

// modelCallDue returns the time when the model is taken to have been called for the running prompt, if a change
// waits for that.
func (m *Machine) modelCallDue() (at time.Time, ok bool) {
	r := m.running()
	if r == nil || r.begun.IsZero() || r.modelCalled || m.closed || len(m.changes) == 0 || m.changes[0].begun || !awaits[m.changes[0].of][worksOn] {
		return time.Time{}, false
	}
	return r.begun.Add(ModelCallTime), m.waits(m.changes[0].of, m.changes[0].place)
}

// Lock is held by one at a time, in the order in which they asked for it. The zero Lock is free.
type Lock struct{ takers []*Taker }

// Taker holds a Lock, or waits for it.
type Taker struct {
	Who   string // for the user
	Since time.Time
}

// Take has t get the lock when those that asked before have released it.
func (l *Lock) Take(t *Taker) { l.takers = append(l.takers, t) }

// Release ends that t holds the lock, or waits for it.
func (l *Lock) Release(t *Taker) {
	l.takers = slices.DeleteFunc(l.takers, func(other *Taker) bool { return other == t })
}

// Holder returns the holder of the lock, nil if it is free.
func (l *Lock) Holder() *Taker {
	if len(l.takers) == 0 {
		return nil
	}
	return l.takers[0]
}
