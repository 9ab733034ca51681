package turns

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"time"
)

// machine is driven by the world below: a Machine, or one that is broken on purpose.
type machine interface {
	Accept(ID, Kind)
	Ready(ID)
	Looked(id ID, joins bool, why error)
	Taken(time.Time, ID)
	Rejected(time.Time, ID, error)
	Fail(ID, error)
	FailRunning(error)
	FailSince(ID, error)
	Complete(ID)
	StartNext() bool
	InterruptDone()
	SetPaused(bool)
	Change(Scope) *Change
	FinishChange(*Change, error)
	LoseChanges(error)
	Close(time.Time)
	Finish()
	SetSteering(bool)
	Join(ID, When)
	Joinable() bool
	Host() ID
	Started(time.Time, string)
	Folded(string) bool
	Withdrawn(string)
	Dropped(string)
	Cancel(time.Time)
	CancelOne(time.Time, ID)
	ConcurrentTurn(time.Time, string)
	Tick(time.Time)
	Due() (time.Time, bool)
	Shown()
	Ended(string, How, error)
	DroidExited(took string, fault bool, why error)
	DroidExitHandled(error)

	GaveUp() bool
	Running() (ID, bool)
	Has(ID) bool
	Stopping() bool
	Waiting() int
	Queued() bool
	Idle() bool
}

// told is the world's record of one prompt: its inputs to the machine, and the machine's actions.
type told struct {
	id        ID
	kind      Kind // never Alone
	alone     bool
	request   string // under which droid has it, or gets it
	started   bool   // NeedDroid, Run or Send came
	again     bool   // droid threw it away, or died before it took it, and it is to be sent again
	resent    bool   // as droid died
	sending   bool   // Send came; Taken or Rejected has not been said
	with      bool   // droid has it
	needs     bool   // NeedDroid came; Ready or Fail has not been said
	runs      bool   // Run came
	stopped   bool   // Stop came
	asked     bool   // Withdraw came, which has no answer yet
	folded    bool   // droid was said to have taken it into another turn
	cancelled bool   // by the user
	hit       bool   // an interrupt for another prompt went out while droid had it
	spoke     bool
	ended     bool

	host      *told // the prompt to which it is a message, nil for a separate prompt
	behind    bool  // it is to wait for the end of its host's turn
	reached   bool  // droid took it
	lingering bool  // its turn is over, and messages of it are not

	place int       // among all that was asked
	seen  time.Time // when droid was said to work on it
	said  bool      // something was said since droid works on it
}

// wanted is the world's record of one change.
type wanted struct {
	handle *Change
	of     Scope
	place  int
	begun  bool
	over   bool
	lost   bool // a panic has ended it, and its request has not said that it is over
}

// world is the reference: an editor and a droid that act at random, and the rules that hold whatever they do.
type world struct {
	m    machine
	did  []Action // by m, and not carried out
	rng  *rand.Rand
	now  time.Time
	all  []*told // in the order of Accept
	open map[ID]*told

	changes []*wanted // all, in order
	places  int       // that were given away

	interrupts                     int
	steering, closed, exited, held bool
	crashes                        int
	ends                           int   // so far
	looking                        *told // Look came for it; Looked has not been said
	stoppingSince                  time.Time
	stoppingID                     ID
	killed                         bool // and not gone yet
	steps                          int
	trail                          []string
}

var errSome = errors.New("some error")

// newWorld makes a world whose machine breaks has changed.
func newWorld(breaks func(*Machine) machine, seed int64) *world {
	w := &world{rng: rand.New(rand.NewSource(seed)), now: time.Unix(0, 0), open: make(map[ID]*told)}
	w.m = breaks(New(numbered(), func(a Action) { w.did = append(w.did, a) }))
	return w
}

// broken is a rule that does not hold.
type broken struct{ text string }

func (w *world) must(ok bool, rule string, args ...any) {
	if !ok {
		panic(broken{fmt.Sprintf(rule, args...)})
	}
}

// play takes n steps, and then ends everything. It returns the first rule that was broken, "" for none.
func (w *world) play(n int) (rule string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case broken:
			rule = p.text
		default:
			panic(p)
		}
	}()
	for w.steps = range n {
		w.step()
		w.carryOut(func() { w.m.StartNext() })
		w.settled()
	}
	w.closeAll()
	return ""
}

func (w *world) note(format string, args ...any) {
	w.trail = append(w.trail, fmt.Sprintf(format, args...))
	if len(w.trail) > 60 {
		w.trail = w.trail[1:]
	}
}

// pick returns one of the open prompts that fit, nil when none does.
func (w *world) pick(fits func(*told) bool) *told {
	var some []*told
	for _, t := range w.all {
		if !t.ended && fits(t) {
			some = append(some, t)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[w.rng.Intn(len(some))]
}

// has tells a prompt that droid has.
func has(t *told) bool { return t.with }

// step lets one thing happen.
func (w *world) step() {
	if w.killed && w.rng.Intn(4) == 0 {
		w.die()
		return
	}
	if w.looking != nil && w.rng.Intn(3) > 0 {
		w.looked()
		return
	}
	switch w.rng.Intn(37) {
	case 0, 1, 2:
		w.accept()
	case 3, 22, 23:
		if t := w.pick(func(t *told) bool { return t.needs }); t != nil {
			w.note("ready %d", t.id)
			t.needs = false
			w.carryOut(func() { w.m.Ready(t.id) })
		}
	case 4, 5, 25, 26:
		if t := w.pick(func(t *told) bool { return t.sending }); t != nil && !w.exited {
			w.note("taken %d", t.id)
			t.sending, t.with, t.reached = false, true, true
			w.carryOut(func() { w.m.Taken(w.now, t.id) })
		}
	case 6:
		w.refuse()
	case 7:
		w.droidEnds()
	case 8, 9:
		w.droidMoves()
	case 10:
		w.cancel()
	case 14, 15:
		if w.interrupts > 0 {
			w.note("interrupt done")
			w.interrupts--
			w.carryOut(func() { w.m.InterruptDone() })
		}
	case 16, 17:
		d := time.Duration(w.rng.Intn(3000)) * time.Millisecond
		if w.rng.Intn(4) == 0 {
			d = 2 * Patience
		}
		w.pass(d)
	case 18:
		w.hold()
	case 19:
		if w.rng.Intn(4) == 0 {
			w.die()
		}
	case 20, 24:
		w.endHere()
	case 28, 29, 30:
		w.join()
	case 31:
		w.change()
	case 32, 33:
		w.changed()
	case 34:
		w.giveUpChanges()
	case 35, 36:
		w.takenBack()
	case 21:
		w.steering = w.rng.Intn(3) > 0
		w.note("steering %v", w.steering)
		w.carryOut(func() { w.m.SetSteering(w.steering) })
	}
}

// looked answers a Look: the prompt joins, waits for the end of the turn, or must not go to droid at all.
func (w *world) looked() {
	t := w.looking
	w.looking = nil
	waits := !t.ended && !t.started
	switch w.rng.Intn(8) {
	case 0:
		w.note("looked %d: it waits", t.id)
		w.steering = w.steering && !waits
		w.carryOut(func() { w.m.Looked(t.id, false, nil) })
	case 1:
		w.note("looked %d: it must end", t.id)
		if waits {
			w.stops(t)
		}
		w.carryOut(func() { w.m.Looked(t.id, false, errSome) })
		if waits {
			w.mustBeOver(t, "a prompt that must not go to droid ends")
		}
	default:
		w.note("looked %d: it joins", t.id)
		w.carryOut(func() { w.m.Looked(t.id, true, nil) })
	}
}

func (w *world) accept() {
	kind := ToDroid
	switch w.rng.Intn(16) {
	case 0:
		kind = Here
	case 1:
		kind = Process
	case 2, 3:
		kind = Alone
	}
	t := &told{id: ID(len(w.all) + 1), kind: kind, place: w.nextPlace()}
	if kind == Alone {
		t.kind, t.alone = ToDroid, true
	}
	w.all = append(w.all, t)
	w.open[t.id] = t
	w.note("accept %d kind %d", t.id, kind)
	w.carryOut(func() { w.m.Accept(t.id, kind) })
}

// refuse makes a prompt fail.
func (w *world) refuse() {
	switch w.rng.Intn(5) {
	case 0, 1:
		if t := w.pick(func(t *told) bool { return t.sending || t.with && w.rng.Intn(4) == 0 }); t != nil {
			w.note("refused %d", t.id)
			w.stops(t)
			w.carryOut(func() { w.m.Rejected(w.now, t.id, errSome) })
			w.mustBeOver(t, "a prompt that droid refused ends")
		}
	case 2:
		if t := w.pick(func(t *told) bool { return t.needs || t.runs }); t != nil {
			w.note("fail %d", t.id)
			w.stops(t)
			w.carryOut(func() { w.m.Fail(t.id, errSome) })
			w.mustBeOver(t, "a prompt that failed ends")
		}
	case 3:
		if w.rng.Intn(4) == 0 {
			w.note("fail running")
			id, ok := w.m.Running()
			if ok {
				w.stops(w.all[id-1])
			}
			w.carryOut(func() { w.m.FailRunning(errSome) })
			if ok {
				w.mustBeOver(w.all[id-1], "what runs ends when it fails")
			}
		}
	case 4:
		if w.rng.Intn(4) == 0 {
			w.note("fail waiting")
			for _, t := range w.open {
				if !t.needs && !t.runs && !t.sending && !t.with {
					w.stops(t)
				}
			}
			w.carryOut(func() { w.m.FailSince(0, errSome) })
			w.must(!w.m.Queued(), "nothing waits when all that waits has failed")
		}
	}
}

// droidEnds makes droid end a prompt that it has, or drop it.
func (w *world) droidEnds() {
	t := w.pick(has)
	if t == nil {
		w.m.Ended("of nobody", Completed, nil)
		w.must(len(w.did) == 0, "a turn of droid's own ends no prompt")
		return
	}
	if w.rng.Intn(3) == 0 {
		w.note("dropped %d", t.id)
		t.with, t.reached, t.folded, t.asked, t.said, t.hit, t.seen = false, false, false, false, false, false, time.Time{}
		again := !t.cancelled && !w.closed
		t.again, t.started = again, t.started && !again
		if !again {
			w.stops(t)
		}
		w.carryOut(func() { w.m.Dropped(t.request) })
		if w.must(!again || !t.ended, "a prompt that the user did not cancel is sent again"); !again {
			w.mustBeOver(t, "one that droid threw away is sent again, or ends")
		}
		return
	}
	how := []How{Completed, Completed, Cancelled, Failed}[w.rng.Intn(4)]
	w.note("ended %d how %d", t.id, how)
	if how == Completed && !t.cancelled {
		w.crashes = 0
	}
	w.stops(t)
	w.carryOut(func() { w.m.Ended(t.request, how, errSome) })
	w.mustBeOver(t, "a prompt that droid ended ends")
	w.must(t.ended || !t.lingering || how != Failed || w.pick(func(o *told) bool { return o.host == t && (o.sending || o.with) }) != nil,
		"nothing more is sent for a prompt that failed")
}

// mustBeOver checks that a prompt has ended, or waits for nothing but its messages.
func (w *world) mustBeOver(t *told, rule string) {
	w.must(t.ended || t.lingering && w.message(t) != nil, "%s", rule)
}

// stops notes that a prompt stops, whether it ends or waits for its messages.
func (w *world) stops(t *told) {
	t.with, t.sending, t.needs, t.runs = false, false, false, false
	t.lingering = t.lingering || t.host == nil && w.message(t) != nil
}

// message is a message of a prompt that has not ended, nil for none.
func (w *world) message(of *told) *told {
	return w.pick(func(t *told) bool { return t.host == of })
}

// join has the user say more to the prompt that runs.
func (w *world) join() {
	t := &told{id: ID(len(w.all) + 1), again: true, behind: w.rng.Intn(2) == 0, place: w.nextPlace()}
	id, runs := w.m.Running()
	if runs {
		t.behind = t.behind || w.open[id].alone
		if t.host = w.open[id]; t.host.host != nil {
			t.host = t.host.host
		}
	}
	may := runs && w.open[id].kind == ToDroid && !w.open[id].cancelled && !t.host.cancelled
	when := Soon
	if t.behind {
		when = Behind
	}
	if may {
		w.all = append(w.all, t)
		w.open[t.id] = t
	}
	w.note("join %d behind %v may %v", t.id, t.behind, may)
	w.must(w.m.Joinable() == may, "a message joins a prompt that runs")
	if may {
		w.must(w.m.Host() == t.host.id, "it joins the prompt that it belongs to")
		w.carryOut(func() { w.m.Join(t.id, when) })
	}
}

// droidMoves makes droid report its work.
func (w *world) droidMoves() {
	if w.rng.Intn(4) == 0 { // also in a turn that droid began
		w.note("spoke")
		if id, ok := w.m.Running(); ok {
			w.open[id].spoke = true
			w.open[id].said = w.open[id].said || !w.open[id].seen.IsZero()
		}
		w.carryOut(func() { w.m.Shown() })
		return
	}
	t := w.pick(func(t *told) bool { return t.with || t.sending }) // its answer to Send may come later
	if t == nil {
		return
	}
	switch w.rng.Intn(3) {
	case 0:
		w.note("started %d", t.id)
		if t.seen.IsZero() {
			t.seen = w.now
		}
		w.carryOut(func() { w.m.Started(w.now, t.request) })
		id, ok := w.m.Running()
		w.must(ok && id == t.id, "what droid works on runs")
	case 1:
		w.note("folded %d", t.id)
		id, _ := w.m.Running()
		folded := w.m.Folded(t.request)
		w.must(folded == (id != t.id), "a prompt is taken into the turn of another one")
		t.spoke, t.said, t.folded = t.spoke || folded, t.said || folded, t.folded || folded
	case 2:
		w.note("beside %d", t.id)
		w.carryOut(func() { w.m.ConcurrentTurn(w.now, t.request) })
	}
}

func (w *world) cancel() {
	if w.rng.Intn(2) == 0 {
		t := w.pick(func(t *told) bool { return t.host == nil })
		if t == nil {
			return
		}
		w.note("cancel one %d", t.id)
		for _, o := range w.open {
			o.cancelled = o.cancelled || o == t || o.host == t
		}
		if !t.started { // it waits, perhaps again
			w.stops(t)
		}
		w.carryOut(func() { w.m.CancelOne(w.now, t.id) })
		return
	}
	w.note("cancel")
	for _, t := range w.open {
		if t.cancelled = true; !t.started {
			w.stops(t)
		}
	}
	w.carryOut(func() { w.m.Cancel(w.now) })
	w.must(!w.m.Queued(), "after a cancel nothing waits")
}

// takenBack makes droid answer that it has returned a prompt.
func (w *world) takenBack() {
	t := w.pick(func(t *told) bool { return t.asked })
	if t == nil {
		return
	}
	w.note("taken back %d", t.id)
	kept := t.folded || !t.seen.IsZero() || !t.with
	t.asked = false
	if !kept {
		w.stops(t)
	}
	w.carryOut(func() { w.m.Withdrawn(t.request) })
	if kept {
		w.must(!t.ended, "droid has what it works on, whatever it answers")
	} else {
		w.mustBeOver(t, "a prompt that droid has given back ends")
	}
}

func (w *world) hold() {
	w.held = !w.held
	w.note("held: %t", w.held)
	w.carryOut(func() { w.m.SetPaused(w.held) })
}

// endHere ends a prompt that is answered here.
func (w *world) endHere() {
	if t := w.pick(func(t *told) bool { return t.runs }); t != nil {
		w.note("complete %d", t.id)
		w.carryOut(func() { w.m.Complete(t.id) })
		w.must(t.ended, "a command that is done ends")
	}
}

// die has droid die, say something last, and be gone.
func (w *world) die() {
	w.note("gone")
	fault := !w.killed && w.rng.Intn(4) > 0
	w.exited, w.killed = true, false
	if fault {
		w.crashes++
	}
	for _, t := range w.all {
		if !t.ended && t.kind == ToDroid && !t.cancelled && !(t.resent && t.sending) && (t.needs || t.sending) && t.seen.IsZero() {
			w.note("%d is to be sent again", t.id)
			t.again, t.resent, t.started, t.needs, t.sending, t.with, t.said, t.folded = true, t.resent || t.sending, false, false, false, false, false, false
		}
	}
	w.m.DroidExited("", fault, errSome)
	for range w.rng.Intn(3) {
		w.droidEnds()
	}
	var had []*told
	for _, t := range w.all {
		if !t.ended && (t.with || t.sending) {
			had = append(had, t)
		}
	}
	w.note("buried")
	w.exited = false
	for _, t := range had {
		w.stops(t)
	}
	w.carryOut(func() { w.m.DroidExitHandled(errSome) })
	for _, t := range had {
		w.must(t.ended, "a crash ends all that droid had (%d)", t.id)
	}
	w.must(w.m.GaveUp() == (w.crashes >= MaxCrashes), "crashes in a row are counted")
	if w.crashes > 5 {
		w.m.(interface{ ResetCrashes() }).ResetCrashes()
		w.crashes = 0
	}
}

// pass lets time pass, and ticks when the machine wants it.
func (w *world) pass(d time.Duration) {
	w.note("pass %v", d)
	until := w.now.Add(d)
	for range 1000 {
		at, ok := w.m.Due()
		if !ok || at.After(until) {
			w.now = until
			return
		}
		if at.After(w.now) {
			w.now = at
		}
		w.carryOut(func() { w.m.Tick(w.now) })
		w.carryOut(func() { w.m.StartNext() })
		w.settled()
	}
	w.must(false, "the machine wants to be ticked without end")
}

// carryOut carries out those actions to which an input leads that take no time, and checks that they are allowed.
func (w *world) carryOut(input func()) {
	input()
	actions := w.did
	w.did = nil
	for _, a := range actions {
		w.note("  %T%v", a, a)
		switch a := a.(type) {
		case NeedDroid:
			t := w.starts(a.ID)
			w.must(t.kind == ToDroid, "droid is wanted for what goes there")
			t.needs = true
		case Run:
			t := w.starts(a.ID)
			w.must(t.kind != ToDroid, "what is answered here runs here")
			t.runs = true
		case Look:
			t := w.open[a.ID]
			w.must(t != nil && !t.ended && !t.started && !t.cancelled && !w.closed, "a prompt that waits is looked at")
			w.must(w.looking == nil, "prompts are looked at one after the other")
			w.looking = t
		case Send:
			w.send(a)
		case Interrupt:
			for _, t := range w.all {
				w.must(t.ended || !t.sending, "no interrupt between send and taken")
			}
			w.must(w.m.Stopping(), "an interrupt is for a cancelled prompt")
			w.interrupts++
			id, _ := w.m.Running()
			for _, t := range w.open {
				t.hit = t.hit || t.with && t.id != id
			}
		case Kill:
			w.must(w.m.Stopping(), "droid is killed for a cancelled prompt")
			w.killed = true
		case Stop:
			t := w.open[a.ID]
			w.must(t != nil && t.kind == Process && t.cancelled && !t.stopped, "a program is stopped once, for a cancel")
			t.stopped = true
		case End:
			w.end(a)
		case Merged:
			w.merged(a)
		case Withdraw:
			t := w.pick(func(t *told) bool { return t.with && t.request == a.Request })
			id, _ := w.m.Running()
			w.must(t != nil && t.cancelled && t.id != id && !t.folded, "a prompt is asked back that was cancelled before droid worked on it")
			t.asked = true
		case Begin:
			w.begins(a.Change)
		case RefuseQuestions:
			id, _ := w.m.Running()
			t := w.open[id]
			w.must(t != nil && t.cancelled && (t.sending || t.with), "what droid asks is refused for a prompt that it has, or is about to get")
		case Forget:
		}
	}
}

// starts checks that a prompt may begin to run.
func (w *world) starts(id ID) *told {
	t := w.open[id]
	w.must(t != nil && !t.ended, "only a prompt that is open starts")
	w.must(!w.closed, "nothing starts after the close")
	w.must(w.pick(func(t *told) bool { return t.needs || t.runs || t.with || t.sending }) == nil, "nothing starts before the one before has ended")
	w.must(w.interrupts == 0, "nothing starts while an interrupt may still reach it")
	w.must(!w.held, "nothing starts while it is held")
	w.must(t.host == nil || t.host.lingering, "a message that starts a turn waits for the end of its prompt's")
	w.notBefore(t, t.host != nil)
	w.inOrder(t)
	t.started = true
	return t
}

// inOrder checks that no prompt is passed over that came before, or that droid threw
// away.
func (w *world) inOrder(t *told) {
	w.must(!t.started, "a prompt starts once")
	for _, other := range w.all {
		if other == t || other.ended || other.started || other.lingering {
			continue
		}
		before := other.id < t.id && other.again == t.again || other.again && !t.again
		w.must(!before || t.again, "prompt %d starts before %d", t.id, other.id)
	}
}

func (w *world) send(a Send) {
	t := w.open[a.ID]
	w.must(t != nil && !t.ended && t.kind == ToDroid, "only a prompt that is open goes to droid")
	id, _ := w.m.Running()
	w.must(a.Joins == (id != a.ID), "what is sent while another prompt runs joins it")
	if a.Joins {
		r := w.open[id]
		w.must((w.steering || t.host != nil) && r != nil && r.with && !r.cancelled, "a prompt is steered into a turn that runs")
		w.must(!t.behind, "what waits for the end of a turn does not go into it")
		w.must(!t.alone && !r.alone, "what is to be alone in its turn is")
		w.notBefore(t, false)
		for _, other := range w.all {
			w.must(other.ended || !other.sending, "prompts are steered one after the other")
		}
		w.inOrder(t)
	} else {
		w.must(t.started && !t.sending && !t.with, "what runs is sent once") // when it may start, starts has checked
	}
	w.must(!t.cancelled, "what was cancelled is not sent")
	for _, other := range w.all {
		w.must(other.request != a.Request, "each send has a request id of its own")
	}
	t.started, t.sending, t.request = true, true, a.Request
}

func (w *world) end(a End) {
	t := w.open[a.ID]
	w.must(t != nil && !t.ended, "prompt %d ends once", a.ID)
	w.must(t.host == nil, "a message has no ending of its own")
	w.must(w.message(t) == nil, "a prompt ends behind its messages")
	w.must(!t.cancelled || a.Cancelled, "a cancelled prompt ends as cancelled")
	w.must(!a.Cancelled || a.Err == nil, "a prompt has one ending")
	w.must(!a.Cancelled || t.cancelled || t.folded || !t.hit, "an interrupt for another prompt is no cancel")
	w.must(!a.Empty || !t.spoke && !a.Cancelled && a.Err == nil, "only an answer of which nothing was shown is empty")
	t.ended, t.with, t.sending, t.needs, t.runs = true, false, false, false, false
	delete(w.open, a.ID)
	w.ends++
}

// merged ends a message. Its last output is also its prompt's.
func (w *world) merged(a Merged) {
	t := w.open[a.ID]
	w.must(t != nil && !t.ended && t.host != nil && !t.host.ended, "message %d ends once, before its prompt", a.ID)
	w.must(a.Unsent == !t.reached, "it is known whether droid had message %d", a.ID)
	t.ended, t.with, t.sending, t.needs = true, false, false, false
	if t.host.lingering {
		t.host.spoke = t.spoke
	}
	delete(w.open, a.ID)
	w.ends++
}

func (w *world) nextPlace() int {
	w.places++
	return w.places
}

// change has the user want something done between prompts.
func (w *world) change() {
	c := &wanted{place: w.nextPlace(), of: General + Scope(w.rng.Intn(int(turn-General)))}
	w.changes = append(w.changes, c)
	w.note("change %d", c.place)
	w.carryOut(func() { c.handle = w.m.Change(c.of) })
}

// begins checks that a change may begin.
func (w *world) begins(handle *Change) {
	c := w.changes[slices.IndexFunc(w.changes, func(c *wanted) bool { return c.handle == handle })]
	w.must(!w.closed && !c.begun && !c.over, "a change begins once")
	for _, other := range w.changes {
		w.must(other.over || other.place >= c.place || c.of == Stricter && other.of.keepsMode() && !other.begun, "changes are made in order, one after the other")
	}
	w.must(w.mayBegin(c), "a change begins when droid has begun with what was asked before it")
	w.note("  change %d begins", c.place)
	c.begun = true
}

// firstChange is the first one that is not over, nil for none.
func (w *world) firstChange() *wanted {
	for _, c := range w.changes {
		if !c.over {
			return c
		}
	}
	return nil
}

// mayBegin reports whether a change need not wait for the prompts that were asked before it.
func (w *world) mayBegin(c *wanted) bool {
	if c.of == Stricter {
		return true
	}
	id, runs := w.m.Running()
	if runs && w.open[id].cancelled && w.open[id].place < c.place && !c.of.keepsMode() {
		return false // what droid still does for it is done in the mode that it began in
	}
	before := func(t *told) bool { return t.place < c.place && (!t.cancelled || !c.of.keepsMode()) }
	for _, t := range w.all {
		if steered := !t.ended && t.sending && (!runs || t.id != id); steered && before(t) {
			return false
		}
	}
	if runs && w.open[id].kind == ToDroid {
		r := w.open[id]
		called := r.said || !r.seen.IsZero() && !w.now.Before(r.seen.Add(ModelCallTime))
		return !before(r) || called || c.of != ModelCalls && !r.seen.IsZero()
	}
	return runs && w.open[id].kind == Process || w.pick(func(t *told) bool {
		return before(t) && !t.started && !t.lingering && (!runs || t.id != id)
	}) == nil
}

// notBefore checks that a prompt does not overtake a change that was asked before it, but for
// one that has not begun where left is true.
func (w *world) notBefore(t *told, left bool) {
	for _, c := range w.changes {
		w.must(c.over || c.place > t.place || left && !c.begun, "prompt %d overtakes change %d", t.id, c.place)
	}
}

// changed ends the change that is under way.
func (w *world) changed() {
	at := slices.IndexFunc(w.changes, func(c *wanted) bool { return c.begun && (!c.over || c.lost) })
	if at < 0 {
		return
	}
	c := w.changes[at]
	var failed error
	if w.rng.Intn(3) == 0 {
		failed = errSome
		w.stopSince(c)
	}
	w.note("changed %d %v", c.place, failed)
	c.over, c.lost = true, false
	w.carryOut(func() { w.m.FinishChange(c.handle, failed) })
	w.must(failed == nil || w.waitingSince(c) == nil, "what was meant for a change that failed is not sent")
}

func (w *world) waitingSince(c *wanted) *told {
	return w.pick(func(t *told) bool { return t.place > c.place && !t.started && !t.lingering })
}

// stopSince records that the prompts that wait after a change stop.
func (w *world) stopSince(c *wanted) {
	for _, t := range w.open {
		if t.place > c.place && !t.started {
			w.stops(t)
		}
	}
}

// giveUpChanges withdraws a change, or loses all.
func (w *world) giveUpChanges() {
	c := w.firstChange()
	if c == nil {
		return
	}
	if w.rng.Intn(3) > 0 {
		last := w.changes[len(w.changes)-1]
		may := !last.begun && !last.over
		w.note("withdraw %d", last.place)
		last.over = last.over || may
		if may {
			w.carryOut(func() { w.m.FinishChange(last.handle, nil) })
		}
		return
	}
	w.note("lose changes")
	w.stopSince(c)
	for _, c := range w.changes {
		c.lost, c.over = c.lost || !c.over, true
	}
	w.carryOut(func() { w.m.LoseChanges(errSome) })
	w.must(w.waitingSince(c) == nil, "what waited for a change that is lost is not sent")
}

// settled checks what holds between two things that happen.
func (w *world) settled() {
	id, runs := w.m.Running()
	if runs {
		w.must(w.open[id] != nil, "what has ended does not run")
	}
	for _, t := range w.all {
		w.must(w.m.Has(t.id) == !t.ended, "the machine has prompt %d until it ends", t.id)
		w.must(!t.lingering || t.ended || w.message(t) != nil, "prompt %d waits for nothing but its messages", t.id)
	}
	if free := !runs && w.interrupts == 0 && !w.held && !w.closed; free {
		begun := slices.ContainsFunc(w.changes, func(c *wanted) bool { return c.begun && !c.over }) // not only the first one: a Stricter passes others
		w.must(!w.m.Queued() || begun, "nothing waits while nothing is in the way")
	}
	w.must(w.m.Idle() == (!runs && !w.m.Queued() && w.firstChange() == nil), "it is idle when nothing is to be done")
	at, due := w.m.Due()
	if c := w.firstChange(); c != nil && !c.begun && !w.closed && !(due && !at.After(w.now)) {
		w.must(!w.mayBegin(c), "a change waits for prompts that were asked before it alone")
	}
	for _, c := range w.changes {
		ahead := func(other *wanted) bool {
			return other.place < c.place && !other.over && (other.begun || !other.of.keepsMode())
		}
		w.must(c.of != Stricter || c.begun || c.over || w.closed || slices.ContainsFunc(w.changes, ahead), "a stricter mode waits for changes that may change the mode alone")
	}
	w.patient()
}

// patient checks that a droid which does not stop is killed in time.
func (w *world) patient() {
	id, _ := w.m.Running()
	if !w.m.Stopping() || id != w.stoppingID {
		w.stoppingID, w.stoppingSince = id, w.now
		return
	}
	w.must(w.killed || w.now.Sub(w.stoppingSince) <= Patience+2*interruptAgainTo, "a droid that does not stop is killed")
}

// closeAll ends the session.
func (w *world) closeAll() {
	w.closed = true
	for _, t := range w.open {
		t.cancelled = true
	}
	w.carryOut(func() { w.m.Close(w.now) })
	w.droidEnds()
	w.carryOut(func() { w.m.Finish() })
	if w.looking != nil {
		w.carryOut(func() { w.m.Looked(w.looking.id, true, nil) })
	}
	ended := !slices.ContainsFunc(w.all, func(t *told) bool { return !t.ended })
	w.must(ended && w.ends == len(w.all), "every prompt has ended")
	w.settled()
}
