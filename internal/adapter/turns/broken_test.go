package turns

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Machines that break one rule each. TestRulesAreNoticed names the rules.

// filtering makes of a Machine one whose actions pass a filter, which returns what is told instead of each.
func filtering(m *Machine, filter func(Action) []Action) *Machine {
	act := m.act
	m.act = func(a Action) {
		for _, a := range filter(a) {
			act(a)
		}
	}
	return m
}

// losesEnds forgets to tell one end in three.
func losesEnds(m *Machine) *Machine {
	n := 0
	return filtering(m, func(a Action) []Action {
		if _, end := a.(End); end {
			n++
			if n%3 == 0 {
				return nil
			}
		}
		return []Action{a}
	})
}

// endsTwice tells the end of a prompt that failed twice.
func endsTwice(m *Machine) *Machine {
	return filtering(m, func(a Action) []Action {
		if end, ok := a.(End); ok && end.Err != nil {
			return []Action{a, a}
		}
		return []Action{a}
	})
}

// jumps lets a prompt go before those that wait.
type jumps struct{ *Machine }

func (b jumps) Accept(id ID, kind Kind) {
	b.Machine.Accept(id, kind)
	if at := slices.Index(b.queue, b.firstWaiting()); at >= 0 {
		n := len(b.queue)
		b.queue[at], b.queue[n-1] = b.queue[n-1], b.queue[at]
	}
}

// interruptsEarly does not wait until droid has taken the prompts on their way.
type interruptsEarly struct{ *Machine }

func (b interruptsEarly) Cancel(now time.Time) {
	b.Machine.Cancel(now)
	if p := b.running(); p != nil && p.stage == sent {
		b.interrupts++
		b.do(Interrupt{})
		b.flush()
	}
}

// forgetsInterrupts starts prompts that an interrupt may still reach.
type forgetsInterrupts struct{ *Machine }

func (b forgetsInterrupts) Accept(id ID, kind Kind) {
	interrupts := b.interrupts
	b.interrupts = 0
	defer func() { b.interrupts = interrupts }()
	b.Machine.Accept(id, kind)
}

// waitsForEver never kills a droid.
func waitsForEver(m *Machine) *Machine {
	return filtering(m, func(a Action) []Action {
		if _, kill := a.(Kill); kill {
			return nil
		}
		return []Action{a}
	})
}

// leavesStarted does not stop a cancelled prompt that droid begins with by itself.
type leavesStarted struct{ *Machine }

func (b leavesStarted) Started(now time.Time, request string) {
	b.Machine.Started(now, request)
	if p := b.running(); p != nil {
		p.patience.due = false
	}
}

// keepsQueue cancels only what runs.
type keepsQueue struct{ *Machine }

func (b keepsQueue) Cancel(now time.Time) {
	at := slices.Index(b.queue, b.firstWaiting())
	if at < 0 {
		b.Machine.Cancel(now)
		return
	}
	waits := slices.Clone(b.queue[at:])
	b.queue = b.queue[:at]
	defer func() { b.queue = append(b.queue, waits...) }()
	b.Machine.Cancel(now)
}

// outlivesDroid ends the running prompt alone when droid dies.
type outlivesDroid struct{ *Machine }

func (b outlivesDroid) DroidExitHandled(why error) {
	b.exited = false
	b.FailRunning(why)
}

// sendsCancelled sends a prompt again that the user cancelled.
type sendsCancelled struct{ *Machine }

func (b sendsCancelled) Dropped(request string) {
	if p := b.byRequest(request); p != nil {
		p.cancelled = false
	}
	b.Machine.Dropped(request)
}

// reportsFailure ends a cancelled prompt with droid's error.
type reportsFailure struct{ *Machine }

func (b reportsFailure) Ended(request string, how How, why error) {
	if p := b.byRequest(request); p != nil && how == Failed {
		p.cancelled = false
	}
	b.Machine.Ended(request, how, why)
}

// stopsAll forgets to start what waits when a hold ends.
type staysHeld struct{ *Machine }

func (b staysHeld) SetPaused(held bool) { b.Machine.SetPaused(b.paused || held) }

// ignoresHolds starts prompts though they are held.
type ignoresHolds struct{ *Machine }

func (b ignoresHolds) SetPaused(bool) {}

// miscounts never resets the count of crashes.
type miscounts struct{ *Machine }

func (b miscounts) Ended(request string, how How, why error) {
	crashes := b.crashes
	defer func() { b.crashes = crashes }()
	b.Machine.Ended(request, how, why)
}

// steersAll hands over prompts faster than droid takes them.
type steersAll struct{ *Machine }

func (b steersAll) Accept(id ID, kind Kind) {
	for _, p := range b.queue {
		if p.stage == sent && p != b.running() {
			p.stage = taken
		}
	}
	b.Machine.Accept(id, kind)
}

// sendsWordsEarly puts messages into the running turn that have to wait for its end.
type sendsWordsEarly struct{ *Machine }

func (b sendsWordsEarly) Join(id ID, _ When) { b.Machine.Join(id, Soon) }

// losesMessages does not send what waits for the end of a turn.
type losesMessages struct{ *Machine }

func (b losesMessages) Ended(request string, how How, why error) {
	if p := b.byRequest(request); p != nil {
		b.leaveUnsent(p, nil)
		b.actions = nil
	}
	b.Machine.Ended(request, how, why)
}

// endsBefore ends a prompt without waiting for its messages.
type endsBefore struct{ *Machine }

func (b endsBefore) Ended(request string, how How, why error) {
	b.Machine.Ended(request, how, why)
	for _, p := range slices.Clone(b.lingering) {
		b.removeLingering(p)
		b.doEnd(p, End{})
	}
	b.flush()
}

// sendsAllTheSame continues with a prompt that failed.
type sendsAllTheSame struct{ *Machine }

func (b sendsAllTheSame) Ended(request string, _ How, why error) {
	b.Machine.Ended(request, Completed, why)
}

// overtakesChanges starts prompts before the change that was asked before them.
type overtakesChanges struct{ *Machine }

func (b overtakesChanges) Accept(id ID, kind Kind) {
	changes := b.changes
	b.changes = nil
	defer func() { b.changes = changes }()
	b.Machine.Accept(id, kind)
}

// changesEarly makes a change before droid has the earlier requests.
type changesEarly struct{ *Machine }

func (b changesEarly) Change(of Scope) *Change {
	c := b.Machine.Change(of)
	c.place = 0
	b.flush()
	return c
}

// changesTwice makes two changes at a time.
type changesTwice struct{ *Machine }

func (b changesTwice) Change(of Scope) *Change {
	changes := b.changes
	b.changes = nil
	c := b.Machine.Change(of)
	b.changes = append(changes, b.changes...)
	return c
}

// modelsEarly takes the model as called for a prompt that is sent again, as something of it was shown before.
type modelsEarly struct{ *Machine }

func (b modelsEarly) Taken(now time.Time, id ID) {
	if p := b.find(id); p != nil {
		p.modelCalled = p.modelCalled || p.spoke
	}
	b.Machine.Taken(now, id)
}

// forgivesChanges sends prompts that were meant for a change that failed.
type forgivesChanges struct{ *Machine }

func (b forgivesChanges) FinishChange(c *Change, _ error) {
	b.Machine.FinishChange(c, nil)
}

// staysChanging does not continue after a change.
type staysChanging struct{ *Machine }

func (b staysChanging) FinishChange(c *Change, _ error) {
	b.changes = slices.DeleteFunc(b.changes, func(other *Change) bool { return other == c })
}

// sparesLost sends prompts that were meant for a change which failed after a panic.
type sparesLost struct{ *Machine }

func (b sparesLost) FinishChange(c *Change, failed error) {
	if !b.Pending(c) {
		failed = nil
	}
	b.Machine.FinishChange(c, failed)
}

// sharesTurns has a prompt that is to be alone in its turn share it.
type sharesTurns struct{ *Machine }

func (b sharesTurns) Accept(id ID, kind Kind) {
	if kind == Alone {
		kind = ToDroid
	}
	b.Machine.Accept(id, kind)
}

// believesAnswers ends a prompt that droid works on, as droid says that it has given it back.
type believesAnswers struct{ *Machine }

func (b believesAnswers) Withdrawn(request string) {
	if p := b.byRequest(request); p != nil {
		p.begun, p.folded = time.Time{}, false
	}
	b.Machine.Withdrawn(request)
}

// TestRulesAreNoticed: a machine that breaks a rule is found within the steps of
// TestRules.
func TestRulesAreNoticed(t *testing.T) {
	for rule, breaks := range map[string]func(*Machine) machine{
		"every prompt ends":              func(m *Machine) machine { return losesEnds(m) },
		"nothing ends twice":             func(m *Machine) machine { return endsTwice(m) },
		"order is kept":                  func(m *Machine) machine { return jumps{m} },
		"no interrupt before taken":      func(m *Machine) machine { return interruptsEarly{m} },
		"no start before the answer":     func(m *Machine) machine { return forgetsInterrupts{m} },
		"kill within the bound":          func(m *Machine) machine { return waitsForEver(m) },
		"what droid begins is stopped":   func(m *Machine) machine { return leavesStarted{m} },
		"a cancel empties the queue":     func(m *Machine) machine { return keepsQueue{m} },
		"a crash ends what droid had":    func(m *Machine) machine { return outlivesDroid{m} },
		"what is cancelled stays so":     func(m *Machine) machine { return sendsCancelled{m} },
		"cancelled ends as cancelled":    func(m *Machine) machine { return reportsFailure{m} },
		"nothing waits without a reason": func(m *Machine) machine { return staysHeld{m} },
		"held prompts wait":              func(m *Machine) machine { return ignoresHolds{m} },
		"crashes are counted":            func(m *Machine) machine { return miscounts{m} },
		"one is steered after the other": func(m *Machine) machine { return steersAll{m} },
		"words wait for the end":         func(m *Machine) machine { return sendsWordsEarly{m} },
		"messages are sent":              func(m *Machine) machine { return losesMessages{m} },
		"prompts wait for messages":      func(m *Machine) machine { return endsBefore{m} },
		"a failure ends it":              func(m *Machine) machine { return sendsAllTheSame{m} },
		"changes hold prompts":           func(m *Machine) machine { return overtakesChanges{m} },
		"changes wait for prompts":       func(m *Machine) machine { return changesEarly{m} },
		"one change after the other":     func(m *Machine) machine { return changesTwice{m} },
		"models wait for calls":          func(m *Machine) machine { return modelsEarly{m} },
		"failed changes fail prompts":    func(m *Machine) machine { return forgivesChanges{m} },
		"lost changes fail prompts":      func(m *Machine) machine { return sparesLost{m} },
		"prompts go on after changes":    func(m *Machine) machine { return staysChanging{m} },
		"alone is alone":                 func(m *Machine) machine { return sharesTurns{m} },
		"what has begun is not back":     func(m *Machine) machine { return believesAnswers{m} },
	} {
		t.Run(rule, func(t *testing.T) {
			for seed := range int64(10 * worlds) {
				w := newWorld(breaks, seed)
				if found := w.play(steps); found != "" {
					t.Logf("found with seed %d: %s", seed, found)
					return
				}
			}
			require.Fail(t, "the broken machine was not found")
		})
	}
}
