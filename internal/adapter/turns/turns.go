// Package turns decides which prompt of a session runs, which wait, and how each
// ends. Machine is a state machine: its inputs carry the time where it matters, and
// a function of its owner carries out its actions, in order. It has no goroutine, no
// clock and no I/O, and knows neither droid's process nor ACP.
//
// A prompt waits in the queue, runs, and ends once. Prompts run one after the other.
// The next one starts after the End of the previous one, so that none of its updates
// comes before that response, and after every interrupt is answered, since a late
// interrupt would stop the wrong prompt. While one runs, steering sends waiting
// prompts to droid at once. droid takes such a prompt into the running turn, or keeps
// it and runs it next (0.99 to 0.225); on a busy machine 0.99 may run both at once.
package turns

import (
	"slices"
	"time"
)

// ID names a prompt. That of a later one is greater.
type ID uint64

// Kind is where a prompt is answered.
type Kind int

const (
	// ToDroid is a prompt for the model.
	ToDroid Kind = iota
	// Alone is a prompt for the model that shares its turn with no other: the form that it demands of the answer would hold for both.
	Alone
	// Here is a command of ours. A cancel ends it at once.
	Here
	// Setting is a command of ours that changes a setting: what is asked later waits for it as for a Change.
	Setting
	// ModelSetting is a Setting that keeps the mode, see Scope.Setting.
	ModelSetting
	// Process is a program of the user's. A cancel stops it, and the prompt ends with it. It continues when droid dies.
	Process
)

// IsSetting reports whether a prompt of this kind changes a setting.
func (k Kind) IsSetting() bool { return k == Setting || k == ModelSetting }

// How is how droid ended a turn.
type How int

const (
	// Completed is the ordinary end.
	Completed How = iota
	// Cancelled is the end after an interrupt.
	Cancelled
	// Failed is the end of a turn that droid could not complete.
	Failed
)

// An Action is something to be done.
type Action interface{ action() }

type (
	// NeedDroid prepares a prompt that begins to run, and droid for it. The answer is Ready
	// or Fail.
	NeedDroid struct{ ID ID }
	// Run runs a prompt that is answered here. It ends with Complete or Fail.
	Run struct{ ID ID }
	// Look looks whether a prompt that waits may go to droid while that works on another one. The answer is Looked.
	Look struct{ ID ID }
	// Send hands a prompt to droid under this request id. The answer is Taken or
	// Rejected.
	Send struct {
		ID      ID
		Request string
		Joins   bool // droid works on another prompt, so this one was not prepared
	}
	// Interrupt asks droid to stop. The answer is InterruptDone.
	Interrupt struct{}
	// Kill ends a droid that does not stop. DroidExited and DroidExitHandled follow.
	Kill struct{}
	// Stop stops the program of a Process prompt.
	Stop struct{ ID ID }
	// Withdraw asks droid to return a cancelled prompt that it has under this request id in addition to the running one. Withdrawn follows
	// if it does.
	Withdraw struct{ Request string }
	// Forget reports that droid does not have the prompt of this request id.
	Forget struct{ Request string }
	// End ends a prompt, which has its response then.
	End struct {
		ID        ID
		Cancelled bool
		Err       error // why it failed; nil when it was completed or cancelled
		Empty     bool  // it is completed, and nothing of it was shown
		ByDroid   bool  // droid ended it, and it ran
	}
	// Merged ends a message that belongs to a prompt, see Join. It has no response.
	Merged struct {
		ID     ID
		Err    error // why it failed; nil when it did not
		Unsent bool  // droid never had it
	}
	// Begin says that the turn of a change has come: it is Begun. FinishChange follows.
	Begin struct{ Change *Change }
	// RefuseQuestions refuses all permissions and questions of droid's that the user has not answered.
	RefuseQuestions struct{}
)

func (NeedDroid) action()       {}
func (Run) action()             {}
func (Look) action()            {}
func (Send) action()            {}
func (Interrupt) action()       {}
func (Kill) action()            {}
func (Stop) action()            {}
func (Withdraw) action()        {}
func (Forget) action()          {}
func (End) action()             {}
func (Merged) action()          {}
func (Begin) action()           {}
func (RefuseQuestions) action() {}

// stage is how far a prompt has come.
type stage int

const (
	waiting   stage = iota // for its turn
	starting               // is being prepared for droid, see NeedDroid
	answering              // is answered here, see Run
	committed              // the same, and neither a cancel nor droid's death ends it, see Keep
	sent                   // is on its way to droid
	taken                  // droid has accepted it, and works on it now or later, see delivery.begun
	lingering              // droid has ended its turn, and not all messages that belong to it
)

// prompt is one prompt on its way to its end.
type prompt struct {
	id    ID
	kind  Kind
	place uint64  // among all that was asked
	host  *prompt // whose message it is, nil for a separate prompt
	when  When    // a message goes to droid

	stage     stage
	delivery           // to droid, from the stage sent on
	retry     retry    // why it is sent again
	cancelled bool     // by the user
	patience  patience // with a cancelled one
	reached   bool     // a droid took it, and did not throw it away
	spoke     bool     // something of it was shown
	failed    error    // what failed first of it and its messages
}

// delivery is how far droid is with a prompt.
type delivery struct {
	request     string    // droid's id of it
	begun       time.Time // since when droid works on it
	modelCalled bool      // the model was called for it, or is taken to have been
	folded      bool      // droid took it into the turn of another one
	interrupted bool      // while droid had it in addition, the running one was interrupted
	crash       error     // why droid died while it had the prompt
}

// retry says why a prompt is sent again.
type retry int

const (
	never  retry = iota
	again        // droid threw it away, or died before it was sent
	resent       // a droid died before it heard it; that happens once
)

// toDroid reports whether a prompt is for the model.
func (p *prompt) toDroid() bool { return p.kind == ToDroid || p.kind == Alone }

// withDroid reports whether droid has the prompt, or is about to get it.
func (p *prompt) withDroid() bool { return p.stage == sent || p.stage == taken }

// Machine is the queue of a session: the prompts and changes that are not over, and who calls droid. Make it with New. It is not safe for
// concurrent use: the session's lock guards it.
type Machine struct {
	newRequest func() string
	act        func(Action) // carries out one, see New

	queue     []*prompt // not ended: the running one, those that droid has in addition, oldest first, and those that wait, in order
	lingering []*prompt // droid has ended their turns, but not all their messages
	changes   []*Change // that are not over, in order; the first one may be under way
	places    uint64    // that were given away
	RPC       Lock      // of calls to droid that must not overlap; a prompt that waited for its release begins with StartNext

	interrupts int // that are not answered
	crashes    int // of droid in a row
	steering   bool
	looking    bool // a Look is not answered
	paused     bool // no prompt may start: the session awaits droid's end, see SetPaused
	exited     bool // droid has exited, and what it said last may still come: from DroidExited to DroidExitHandled
	closed     bool // nothing starts any more

	actions []Action // to be carried out, in order
	acting  bool     // flush is at work on them
}

// running returns the running prompt, nil for none. It is the first one in the queue, before those that droid has in addition.
func (m *Machine) running() *prompt {
	if len(m.queue) > 0 && m.queue[0].stage != waiting {
		return m.queue[0]
	}
	return nil
}

// firstWaiting returns the prompt whose turn comes next, nil for none.
func (m *Machine) firstWaiting() *prompt {
	return m.first(func(p *prompt) bool { return p.stage == waiting })
}

// promoted follows when another prompt that droid has is the running one from now on. One that was cancelled before is interrupted now that
// droid can hear it; with the next Tick, as it may end together with the turn before.
func (m *Machine) promoted() {
	if p := m.running(); p != nil && p.cancelled && !p.patience.begun() {
		p.patience.due = true
	}
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

// New makes a Machine. newRequest makes the ids under which prompts go to droid, each
// another one. act carries out one action. It must not block, nor release the lock that guards the Machine.
func New(newRequest func() string, act func(Action)) *Machine {
	return &Machine{newRequest: newRequest, act: act}
}

// do has flush carry out an action.
func (m *Machine) do(a Action) { m.actions = append(m.actions, a) }

// flush is called at the end of each input. It begins the change whose turn has come, and carries out the actions, in order. Within act,
// also in a goroutine to which act lends the lock, an input only adds its actions: they are carried out after those that are left.
func (m *Machine) flush() {
	m.startChange()
	if m.acting {
		return
	}
	m.acting = true
	defer func() { m.acting = false }()
	for len(m.actions) > 0 {
		a := m.actions[0]
		m.actions = slices.Delete(m.actions, 0, 1)
		m.act(a)
	}
}

// Accept queues a prompt. It starts now, or when those before it have ended.
func (m *Machine) Accept(id ID, kind Kind) {
	p := &prompt{id: id, kind: kind, place: m.nextPlace()}
	if m.closed {
		m.doEnd(p, End{Cancelled: true})
	} else {
		m.queue = append(m.queue, p)
		m.next()
		m.steer()
	}
	m.flush()
}

// StartNext starts the first waiting prompt, if one may start, and reports whether that, or a change that begins, led to an action. It is
// called when all is done that came with what happened: what was said to a droid before it is replaced, for one, does not begin a prompt in
// that droid.
func (m *Machine) StartNext() (acted bool) {
	m.next()
	m.startChange()
	acted = len(m.actions) > 0
	m.flush()
	return acted
}

// next starts the first waiting prompt, if one may start.
func (m *Machine) next() {
	p := m.firstWaiting()
	if p == nil || m.interrupts > 0 || m.paused || m.exited || m.closed {
		return
	}
	of := turn
	if p.host != nil {
		of = message
	}
	if m.waits(of, p.place) {
		return
	}
	if p.toDroid() {
		p.stage = starting
		m.do(NeedDroid{p.id})
	} else {
		p.stage = answering
		m.do(Run{p.id})
	}
}

// Ready reports that a prompt is prepared; it is sent now. It is ignored if the prompt no longer runs, as after DroidExited.
func (m *Machine) Ready(id ID) {
	if p := m.running(); p != nil && p.id == id && p.stage == starting {
		m.send(p, false)
	}
	m.flush()
}

func (m *Machine) send(p *prompt, joins bool) {
	p.stage, p.request = sent, m.newRequest()
	m.do(Send{p.id, p.request, joins})
}

// SetSteering says whether waiting prompts go to droid while another one runs.
func (m *Machine) SetSteering(on bool) {
	m.steering = on
	m.steer()
	m.flush()
}

// steer has the next waiting prompt looked at, if it may go to droid while a turn runs. It waits meanwhile.
func (m *Machine) steer() {
	if p := m.joiner(); p != nil && !m.looking {
		m.looking = true
		m.do(Look{p.id})
	}
}

// Looked is the answer to Look. A prompt that joins goes to droid, if it still may; one that must not ends with why. Without either it waits for
// the end of the turn, as do those behind it; a message is looked at again. Nothing is decided about a prompt that no longer waits.
func (m *Machine) Looked(id ID, joins bool, why error) {
	m.looking = false
	p := m.first(func(p *prompt) bool { return p.id == id && p.stage == waiting })
	switch {
	case p == nil:
	case why != nil:
		m.fail(p, why)
	case !joins:
		m.steering = false // until SetSteering, when the next turn begins
	case p == m.joiner():
		m.send(p, true)
	}
	m.steer()
	m.flush()
}

// joiner returns the waiting prompt that may go to droid while a turn runs, nil for none: the next one, once droid has accepted the one before,
// which keeps their order. A prompt that is answered here waits for its turn, and so does everything behind it.
func (m *Machine) joiner() *prompt {
	r, p := m.running(), m.firstWaiting()
	if m.exited || m.paused || m.closed || r == nil || r.stage != taken || p == nil || !p.toDroid() || !m.mayJoinNow(p) || m.waits(joining, p.place) {
		return nil
	}
	return p
}

// mayJoinNow reports whether a waiting prompt may go to droid while another one runs.
func (m *Machine) mayJoinNow(p *prompt) bool {
	if p.host == nil {
		return m.steering && p.kind != Alone && m.running().kind != Alone
	}
	return p.when == Soon
}

// Taken says that droid took a prompt.
func (m *Machine) Taken(now time.Time, id ID) {
	if p := m.find(id); p != nil && p.stage == sent {
		p.stage, p.reached = taken, true
		m.startChange() // before what was asked later
		m.withdraw(p)
		m.stopRunning(now)
		m.steer()
	}
	m.flush()
}

// Rejected says that droid did not take a prompt, and why. It may come late, when
// droid has begun to work on the prompt.
func (m *Machine) Rejected(now time.Time, id ID, why error) {
	if p := m.find(id); p != nil && p.withDroid() {
		m.do(Forget{p.request})
		m.fail(p, why)
		m.stopRunning(now)
		m.steer()
	}
	m.flush()
}

// Fail ends a running prompt that cannot continue: there is no droid for it, or something failed here.
func (m *Machine) Fail(id ID, why error) {
	if p := m.running(); p != nil && p.id == id {
		m.fail(p, why)
	}
	m.flush()
}

// FailRunning ends the prompt that runs, whichever it is, and first what droid has begun for it.
func (m *Machine) FailRunning(why error) {
	if p := m.running(); p != nil {
		if p.withDroid() {
			m.do(Forget{p.request})
		}
		m.fail(p, why)
	}
	m.flush()
}

// FailSince ends the prompts that wait and were asked since another one, which may have ended; 0 is before all.
func (m *Machine) FailSince(id ID, why error) {
	m.failWaiting(why, func(p *prompt) bool { return p.id > id })
	m.flush()
}

// failWaiting ends the waiting prompts for which is reports true.
func (m *Machine) failWaiting(why error, is func(*prompt) bool) {
	waits := func(p *prompt) bool { return p.stage == waiting && is(p) }
	for p := m.first(waits); p != nil; p = m.first(waits) {
		m.fail(p, why)
	}
}

// Complete ends a prompt that is answered here.
func (m *Machine) Complete(id ID) {
	if p := m.running(); p != nil && p.id == id && !p.toDroid() {
		m.finish(p, End{Cancelled: p.cancelled})
	}
	m.flush()
}

// InterruptDone says that an interrupt was answered, or will not be.
func (m *Machine) InterruptDone() {
	m.interrupts--
	m.flush()
}

// SetPaused sets whether prompts are kept from starting. The running one continues.
func (m *Machine) SetPaused(paused bool) {
	m.paused = paused
	m.flush()
}

// Close cancels everything. Nothing starts any more.
func (m *Machine) Close(now time.Time) {
	m.closed = true
	m.cancel(now)
	m.flush()
}

// Finish ends what is still open after Close, as cancelled.
func (m *Machine) Finish() {
	m.closed = true
	m.dropWaiting()
	for p := m.running(); p != nil; p = m.running() {
		m.drop(p)
	}
	m.flush()
}

// A prompt ends in three steps: finish takes it out of the queue, settle waits for the messages that belong to it, and doEnd reports the
// End. Callers use finish, or fail and drop, which call it.

// fail ends a prompt with an error, or as cancelled if the user wanted that.
func (m *Machine) fail(p *prompt, why error) {
	if p.cancelled {
		m.finish(p, End{Cancelled: true})
	} else {
		m.finish(p, End{Err: why})
	}
}

// finish ends a prompt, and follows droid to the next one that it has.
func (m *Machine) finish(p *prompt, e End) {
	ran := m.running() == p
	m.remove(p)
	m.settle(p, e)
	if ran {
		m.promoted()
	}
}

// doEnd reports the End of a prompt: as cancelled if the user cancelled it, else with what failed first.
func (m *Machine) doEnd(p *prompt, e End) {
	switch {
	case p.cancelled:
		e.Err, e.Cancelled, e.Empty = nil, true, false
	case p.failed != nil:
		e.Err, e.Cancelled, e.Empty = p.failed, false, false
	}
	e.ID = p.id
	m.do(e)
}
