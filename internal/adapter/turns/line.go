package turns

import "slices"

// All requests to a session are in one queue, in their order: prompts, and changes between them. They take effect in that order.

// Scope is the part of a request that determines what it waits for: the subject of a change, or a prompt. The zero value is none.
type Scope int

const (
	// General is any change that is neither ModelCalls nor Stricter.
	General Scope = iota + 1
	// ModelCalls is a change of the calls of the model: which model, with which effort. A prompt's first call
	// comes some time after droid has begun with it and would follow the change (0.99 to
	// 0.225). Nothing but the model's answer reports that it was made; where that takes longer
	// than ModelCallTime, the user need not wait for it.
	ModelCalls
	// Stricter is a mode that asks for at least as much as the current one, if no change was requested before it. A prompt that is being
	// prepared was asked before it and may be sent while it is under way.
	Stricter

	turn    // a prompt that begins a turn
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
	withIt                      // droid has it
	worksOn                     // droid has begun to work on it
	modelCalled                 // the model was called for it
	stopping                    // it was cancelled, and has not ended
	command                     // a command of ours that runs
	program                     // a program of the user's that runs
	notBegun                    // a change that waits, also a Setting
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
// and the change behind it.
var awaits = [...][most]bool{
	General:    {inLine: true, preparing: true, onItsWay: true, withIt: true, notBegun: true, underWay: true},
	ModelCalls: {inLine: true, preparing: true, onItsWay: true, withIt: true, worksOn: true, notBegun: true, underWay: true},
	Stricter:   {onItsWay: true, withIt: true, notBegun: true, underWay: true},
	turn:       {preparing: true, onItsWay: true, withIt: true, worksOn: true, modelCalled: true, stopping: true, command: true, program: true, notBegun: true, underWay: true, rpcHeld: true},
	message:    {preparing: true, onItsWay: true, withIt: true, worksOn: true, modelCalled: true, stopping: true, command: true, program: true, underWay: true, rpcHeld: true},
	joining:    {preparing: true, onItsWay: true, stopping: true, command: true, program: true, notBegun: true, underWay: true},
}

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
			return (p.place < place || of >= turn && p.stage != waiting) && row[m.progress(p)]
		})
}

// progress returns how far a prompt in the queue is.
func (m *Machine) progress(p *prompt) progress {
	r := m.running()
	switch {
	case p.kind == Setting && p.stage == waiting:
		return notBegun
	case p.kind == Setting:
		return underWay
	case p.stage == waiting && (r == nil || r.kind == Here || r.kind == Setting):
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
		return withIt
	case p.stage == sent:
		return onItsWay
	}
	return preparing
}

func (c *Change) progress() progress {
	if c.begun {
		return underWay
	}
	return notBegun
}
