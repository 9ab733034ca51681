package turns

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var begin = time.Unix(0, 0)

// at is the time so long after the begin.
func at(d time.Duration) time.Time { return begin.Add(d) }

// recorder is a Machine whose actions are recorded, and not carried out.
type recorder struct {
	*Machine
	recorded []Action
}

func recording() *recorder {
	r := new(recorder)
	r.Machine = New(numbered(), func(a Action) {
		if look, is := a.(Look); is {
			r.Looked(look.ID, true, nil) // at once
			return
		}
		r.recorded = append(r.recorded, a)
	})
	return r
}

// actionsOf returns the actions to which these inputs lead.
func (r *recorder) actionsOf(inputs func()) []Action {
	r.recorded = nil
	inputs()
	return r.recorded
}

// working makes a machine in which droid works on prompt 1, of the request "request 1".
func working(t *testing.T) *recorder {
	m := recording()
	require.Equal(t, []Action{NeedDroid{1}}, m.actionsOf(func() { m.Accept(1, ToDroid) }))
	require.Equal(t, []Action{Send{1, "request 1", false}}, m.actionsOf(func() { m.Ready(1) }))
	require.Empty(t, m.actionsOf(func() { m.Taken(begin, 1) }))
	return m
}

// steered returns a machine whose droid has prompts 1 and 2 at the same time.
func steered(t *testing.T) *recorder {
	m := working(t)
	require.Empty(t, m.actionsOf(func() { m.SetSteering(true) }))
	require.Equal(t, []Action{Send{2, "request 2", true}}, m.actionsOf(func() { m.Accept(2, ToDroid) }))
	require.Empty(t, m.actionsOf(func() { m.Taken(begin, 2) }))
	return m
}

func ended(m *recorder, request string, how How, why error) []Action {
	return m.actionsOf(func() { m.Ended(request, how, why); m.StartNext() })
}

// The actions of an input within act are carried out after those that are left, and those left by a panic of act with the next input.
func TestActionsAreCarriedOutInOrder(t *testing.T) {
	var m *Machine
	var ended []ID
	m = New(numbered(), func(a Action) {
		end, is := a.(End)
		if !is {
			return
		}
		ended = append(ended, end.ID)
		switch end.ID {
		case 2:
			m.Accept(4, Here)
			require.Equal(t, []ID{2}, ended)
		case 3:
			panic("test")
		}
	})
	m.Accept(1, ToDroid)
	m.Accept(2, ToDroid)
	m.Accept(3, ToDroid)
	require.Panics(t, m.Finish)
	require.Equal(t, []ID{2, 3}, ended)
	m.Ended("of nobody", Completed, nil)
	require.Equal(t, []ID{2, 3, 1, 4}, ended)
}

// TestInterruptIsRepeated: at once, and then less and less often, until the patience
// ends (quirk 5).
func TestInterruptIsRepeated(t *testing.T) {
	m := working(t)
	_, due := m.Due()
	require.False(t, due)
	require.Equal(t, []Action{Interrupt{}, RefuseQuestions{}}, m.actionsOf(func() { m.Cancel(begin) }))
	require.Empty(t, m.actionsOf(func() { m.Cancel(begin) }), "once is enough")
	for _, after := range []time.Duration{200, 600, 1400, 3000, 4600, 6200, 7800} {
		after *= time.Millisecond
		next, due := m.Due()
		require.True(t, due)
		require.Equal(t, at(after), next)
		require.Empty(t, m.actionsOf(func() { m.Tick(at(after - 1)) }))
		require.Equal(t, []Action{Interrupt{}}, m.actionsOf(func() { m.Tick(at(after)) }))
	}
	require.Empty(t, m.actionsOf(func() { m.Tick(at(Patience - 1)) }))
	require.Equal(t, []Action{Kill{}}, m.actionsOf(func() { m.Tick(at(Patience)) }))
	_, due = m.Due()
	require.False(t, due)
	m.DroidExited("", false, errSome)
	require.Equal(t, []Action{End{ID: 1, Cancelled: true}}, m.actionsOf(func() { m.DroidExitHandled(errSome) }))
}

// A turn that droid began is interrupted once, and the next prompt waits for the answer to the interrupt.
func TestStopUnprompted(t *testing.T) {
	m := recording()
	require.Equal(t, []Action{Interrupt{}, RefuseQuestions{}}, m.actionsOf(m.StopUnprompted))
	require.Empty(t, m.actionsOf(m.StopUnprompted), "it is on its way")
	require.Empty(t, m.actionsOf(func() { m.Accept(1, ToDroid) }))
	require.Equal(t, []Action{NeedDroid{1}}, m.actionsOf(func() { m.InterruptDone(); m.StartNext() }))
	m.Ready(1)
	require.Empty(t, m.actionsOf(m.StopUnprompted), "a cancel of the prompt does it")
	require.Equal(t, []Action{RefuseQuestions{}}, m.actionsOf(func() { m.Cancel(begin) }), "droid has not accepted it")
	require.True(t, m.RefusesQuestions())

	m = recording()
	m.Accept(1, Here)
	m.Keep(1)
	m.Cancel(begin)
	require.Equal(t, []Action{Interrupt{}, RefuseQuestions{}}, m.actionsOf(m.StopUnprompted), "while a command runs that cannot be undone")

	m = recording()
	m.Accept(1, Process)
	m.Cancel(begin)
	require.Equal(t, []Action{Interrupt{}, RefuseQuestions{}}, m.actionsOf(m.StopUnprompted), "while a program of the user's runs")
	require.True(t, m.RefusesQuestions(), "until droid has stopped")
	require.Empty(t, m.actionsOf(func() { m.Accept(2, ToDroid) }))
	require.Empty(t, m.actionsOf(func() { m.Complete(1) })[1:], "the next prompt waits for the answer, too")
	require.Equal(t, []Action{NeedDroid{2}}, m.actionsOf(func() { m.InterruptDone(); m.StartNext() }))
}

// TestPatienceEndsOnTime: at the time itself (quirk 25).
func TestPatienceEndsOnTime(t *testing.T) {
	m := working(t)
	m.Cancel(begin)
	require.Equal(t, []Action{Kill{}}, m.actionsOf(func() { m.Tick(at(8 * time.Second)) }))
	m = working(t)
	m.Cancel(begin)
	require.Equal(t, []Action{Interrupt{}}, m.actionsOf(func() { m.Tick(at(Patience - 1)) }))
}

// TestDeafTurnIsKilledSoon checks both orders: the turn is known to ignore interrupts before the cancel, or after it (quirk 31).
func TestDeafTurnIsKilledSoon(t *testing.T) {
	m := working(t)
	require.Empty(t, m.actionsOf(func() { m.ConcurrentTurn(begin, "request 1") }))
	require.Empty(t, m.actionsOf(func() { m.ConcurrentTurn(begin, "of nobody") }))
	require.Equal(t, []Action{Interrupt{}, RefuseQuestions{}}, m.actionsOf(func() { m.Cancel(begin) }))
	require.Equal(t, []Action{Kill{}}, m.actionsOf(func() { m.Tick(at(interruptAgain)) }))

	m = working(t)
	m.Cancel(begin)
	require.Equal(t, []Action{Interrupt{}}, m.actionsOf(func() { m.ConcurrentTurn(at(time.Second), "request 1") }))
	require.Empty(t, m.actionsOf(func() { m.Tick(at(time.Second + interruptAgain - 1)) }))
	require.Equal(t, []Action{Kill{}}, m.actionsOf(func() { m.Tick(at(time.Second + interruptAgain)) }))
}

// TestInterruptWaitsForTheMessage that is on its way, however long that takes.
func TestInterruptWaitsForTheMessage(t *testing.T) {
	m := recording()
	m.Accept(1, ToDroid)
	m.Ready(1)
	require.Equal(t, []Action{RefuseQuestions{}}, m.actionsOf(func() { m.Cancel(begin) }))
	require.Empty(t, m.actionsOf(func() { m.Tick(at(interruptAgain)) }))
	require.Equal(t, []Action{Interrupt{}}, m.actionsOf(func() { m.Taken(at(time.Second), 1) }))
	require.Empty(t, m.actionsOf(func() { m.Taken(at(time.Second), 1) }), "it is taken once")
	require.Equal(t, []Action{Kill{}}, m.actionsOf(func() { m.Tick(at(Patience)) }), "the patience began with the cancel")

	m = working(t)
	m.SetSteering(true)
	m.Accept(2, ToDroid)
	require.Equal(t, []Action{RefuseQuestions{}}, m.actionsOf(func() { m.Cancel(begin) }))
	require.Equal(t, []Action{Interrupt{}}, m.actionsOf(func() { m.Taken(begin, 2) }))

	m = working(t)
	m.SetSteering(true)
	m.Accept(2, ToDroid)
	m.CancelOne(begin, 1)
	require.Equal(t, []Action{Forget{"request 2"}, End{ID: 2, Err: errSome}, Interrupt{}}, m.actionsOf(func() { m.Rejected(begin, 2, errSome) }))
}

// TestPromptsAnsweredHere: a cancel ends a command at once, and a program when it has
// stopped.
func TestPromptsAnsweredHere(t *testing.T) {
	m := recording()
	require.Equal(t, []Action{Run{1}}, m.actionsOf(func() { m.Accept(1, Here) }))
	require.False(t, m.Working())
	require.Equal(t, []Action{End{ID: 1, Cancelled: true}}, m.actionsOf(func() { m.CancelOne(begin, 1) }))
	require.Empty(t, m.actionsOf(func() { m.Complete(1) }))
	require.Equal(t, []Action{Run{2}}, m.actionsOf(func() { m.Accept(2, Process) }))
	require.Equal(t, []Action{Stop{2}}, m.actionsOf(func() { m.CancelOne(begin, 2) }), "what droid asks is about a turn of its own")
	require.False(t, m.RefusesQuestions())
	require.False(t, m.Stopping(), "droid has nothing to stop")
	m.DroidExited("", true, errSome)
	require.Empty(t, m.actionsOf(func() { m.DroidExitHandled(errSome) }), "it goes on")
	require.Equal(t, []Action{End{ID: 2, Cancelled: true}}, m.actionsOf(func() { m.Complete(2) }))
	m.Accept(3, Here)
	require.Equal(t, []Action{End{ID: 3}}, m.actionsOf(func() { m.Complete(3) }))
	require.Empty(t, m.actionsOf(func() { m.Complete(3) }))
}

// TestEndings checks how prompts end that droid ends.
func TestEndings(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(m *recorder)
		how    How
		want   End
	}{
		"answered":  {func(m *recorder) { m.Shown() }, Completed, End{}},
		"empty":     {func(*recorder) {}, Completed, End{Empty: true}},
		"failed":    {func(*recorder) {}, Failed, End{Err: errSome}},
		"stopped":   {func(*recorder) {}, Cancelled, End{Cancelled: true}},
		"cancelled": {func(m *recorder) { m.Cancel(begin) }, Failed, End{Cancelled: true}},
		"crashed":   {func(m *recorder) { m.DroidExited("", true, errors.New("crash")) }, Failed, End{Err: errors.New("crash")}},
		"finished":  {func(m *recorder) { m.Shown(); m.DroidExited("", true, errors.New("crash")) }, Completed, End{}},
	} {
		m := working(t)
		tc.before(m)
		tc.want.ID, tc.want.ByDroid = 1, true
		require.Equal(t, []Action{tc.want}, ended(m, "request 1", tc.how, errSome), name)
	}
}

// TestSteering checks that steering takes one prompt after the other, and stops at one that is not for droid.
func TestSteering(t *testing.T) {
	m := working(t)
	m.Accept(2, ToDroid)
	m.Accept(3, ToDroid)
	m.Accept(4, Here)
	m.Accept(5, ToDroid)
	require.Equal(t, []Action{Send{2, "request 2", true}}, m.actionsOf(func() { m.SetSteering(true) }))
	require.Equal(t, []Action{Send{3, "request 3", true}}, m.actionsOf(func() { m.Taken(begin, 2) }))
	require.Empty(t, m.actionsOf(func() { m.Taken(begin, 3) }))
	require.True(t, m.Queued())
	require.Equal(t, 4, m.Waiting())
	require.Equal(t, []Action{Forget{"request 3"}, End{ID: 3, Err: errSome}}, m.actionsOf(func() { m.Rejected(begin, 3, errSome) }), "late")
	m.CancelOne(begin, 4)
	m.Shown()
	require.Equal(t, []Action{Send{5, "request 4", true}}, m.actionsOf(func() { m.SetSteering(true) }))
	m.DroidExited("", true, errSome)
	require.Empty(t, m.actionsOf(func() { m.Accept(6, ToDroid) }), "there is no droid to take it")
}

// If a droid died after it answered a prompt, it had that prompt, even if the answer was not processed yet.
func TestDeadDroidHadTaken(t *testing.T) {
	for took, want := range map[string]Action{
		"request 1": End{ID: 1, Err: errSome},
		"":          NeedDroid{1},
		"request 0": NeedDroid{1},
	} {
		m := recording()
		m.Accept(1, ToDroid)
		m.Ready(1)
		m.DroidExited(took, true, errSome)
		require.Equal(t, []Action{want}, m.actionsOf(func() { m.DroidExitHandled(errSome); m.StartNext() }), took)
	}
}

// TestClose cancels, and Finish ends what then still runs.
func TestClose(t *testing.T) {
	m := steered(t)
	m.SetSteering(false)
	m.Accept(3, ToDroid)
	require.Equal(t, []Action{End{ID: 3, Cancelled: true}, Interrupt{}, RefuseQuestions{}}, m.actionsOf(func() { m.Close(begin) }))
	require.Equal(t, []Action{End{ID: 4, Cancelled: true}}, m.actionsOf(func() { m.Accept(4, ToDroid) }))
	require.Equal(t, []Action{End{ID: 2, Cancelled: true}}, m.actionsOf(func() { m.Dropped("request 2") }))
	require.Equal(t, []Action{End{ID: 1, Cancelled: true}}, m.actionsOf(m.Finish))
	require.Empty(t, m.actionsOf(m.Finish))

	m = working(t)
	m.Accept(2, ToDroid)
	require.Equal(t, []Action{End{ID: 2, Cancelled: true}, End{ID: 1, Cancelled: true}}, m.actionsOf(m.Finish), "also without a close")
	require.Equal(t, []Action{End{ID: 3, Cancelled: true}}, m.actionsOf(func() { m.Accept(3, Here) }))
}

// TestQuestions about what runs.
func TestQuestions(t *testing.T) {
	m := recording()
	require.True(t, m.Idle())
	require.False(t, m.Sending())
	id, runs := m.Running()
	require.False(t, runs)
	require.Zero(t, id)
	m.Accept(1, ToDroid)
	require.False(t, m.Idle())
	require.False(t, m.Working())
	id, known := m.IDOf("request 1")
	require.False(t, known)
	require.Zero(t, id)
	require.False(t, m.Sending())
	m.Ready(1)
	require.True(t, m.Working())
	require.True(t, m.Sending())
	id, known = m.IDOf("request 1")
	require.True(t, known)
	require.Equal(t, ID(1), id)
	m.Taken(begin, 1)
	require.True(t, m.Working())
	require.False(t, m.Sending())
	require.False(t, m.Stopping())
	require.False(t, m.Cancelled(1))
	require.False(t, m.Cancelled(9))
	m.Cancel(begin)
	require.True(t, m.Cancelled(1))
	require.True(t, m.Stopping())
	require.False(t, m.Working())
	m.FailRunning(errSome)
	require.Empty(t, m.actionsOf(func() { m.FailRunning(errSome) }))
	m.InterruptDone()
	require.True(t, m.Idle())
	m.SetPaused(true)
	m.Accept(2, ToDroid)
	m.Accept(3, ToDroid)
	require.True(t, m.Has(3))
	require.Equal(t, []Action{End{ID: 2, Err: errSome}, End{ID: 3, Err: errSome}}, m.actionsOf(func() { m.FailSince(0, errSome) }))
	require.False(t, m.Has(3))
	require.Empty(t, m.actionsOf(func() { m.SetPaused(false) }))
	require.Empty(t, m.actionsOf(func() { m.CancelOne(begin, 3) }), "it has ended")
}

// While a call to droid holds the lock or waits for it, no prompt begins; a running one accepts others, and changes begin.
func TestCallsHoldPrompts(t *testing.T) {
	m, one, other := recording(), new(Taker), new(Taker)
	m.SetSteering(true)
	m.RPC.Take(one)
	m.RPC.Take(other)
	require.Empty(t, m.actionsOf(func() { m.Accept(1, ToDroid) }))
	require.False(t, m.Idle())
	require.Same(t, one, m.RPC.Holder())
	m.RPC.Release(one)
	require.Same(t, other, m.RPC.Holder())
	require.Empty(t, m.actionsOf(func() { require.False(t, m.StartNext()) }))
	m.RPC.Release(other)
	require.Nil(t, m.RPC.Holder())
	require.Equal(t, []Action{NeedDroid{1}}, m.actionsOf(func() { require.True(t, m.StartNext()) }))
	m.Ready(1)
	m.RPC.Take(one)
	require.Equal(t, []Action{Send{2, "request 2", true}}, m.actionsOf(func() { m.Taken(begin, 1); m.Accept(2, ToDroid) }))
	m.Taken(begin, 2)
	require.Empty(t, m.actionsOf(func() { m.Change(General) }), "droid has not begun")
	require.Len(t, m.actionsOf(func() { m.Started(begin, "request 1") }), 1)
	m.Ended("request 1", Completed, nil)
	m.Ended("request 2", Completed, nil)
	m.LoseChanges(nil)
	require.False(t, m.Idle(), "one holds the lock")
	other = new(Taker)
	m.RPC.Take(other)
	m.RPC.Release(other) // it waits no longer
	require.Same(t, one, m.RPC.Holder())
	m.RPC.Release(one)
	require.True(t, m.Idle())

	m.Accept(3, ToDroid)
	m.Ready(3)
	m.Taken(begin, 3)
	m.Join(4, Behind)
	m.RPC.Take(one)
	m.Ended("request 3", Completed, nil)
	require.Empty(t, m.actionsOf(func() { m.StartNext() }), "a message that begins a turn")
	m.RPC.Release(one)
	require.Equal(t, []Action{NeedDroid{4}}, m.actionsOf(func() { m.StartNext() }))
}

// An uncancellable command ends by itself, regardless of cancels and of droid's exit.
func TestKeptCommand(t *testing.T) {
	m := recording()
	require.Equal(t, []Action{Run{1}}, m.actionsOf(func() { m.Accept(1, Here) }))
	m.Keep(2) // another one, which has ended
	require.Equal(t, answering, m.running().stage)
	m.Keep(1)
	require.Empty(t, m.actionsOf(func() { m.Cancel(begin) }))
	require.Empty(t, m.actionsOf(func() { m.CancelOne(begin, 1) }))
	m.DroidExited("", true, errSome)
	require.Empty(t, m.actionsOf(func() { m.DroidExitHandled(errSome) }))
	require.Equal(t, []Action{End{ID: 1, Cancelled: true}}, m.actionsOf(func() { m.Complete(1) }))
}

// TestDeadDroid checks that prompts which a dead droid drops wait for the next one, and that nothing is sent to it.
func TestDeadDroid(t *testing.T) {
	m := steered(t)
	m.Cancel(begin)
	m.DroidExited("", true, errSome)
	_, due := m.Due()
	require.False(t, due)
	require.Equal(t, []Action{End{ID: 1, Cancelled: true}, End{ID: 2, Cancelled: true}}, m.actionsOf(func() { m.DroidExitHandled(errSome) }))

	m = working(t)
	m.DroidExited("", true, errSome)
	require.Empty(t, m.actionsOf(func() { m.Dropped("request 1") }))
	require.True(t, m.InLine(1))
	require.Equal(t, []Action{NeedDroid{1}}, m.actionsOf(func() { m.DroidExitHandled(errSome); m.StartNext() }))
}

// TestNobodysPrompts change nothing.
func TestNobodysPrompts(t *testing.T) {
	m := recording()
	require.False(t, working(t).Folded("of nobody"))
	require.Empty(t, m.actionsOf(func() { m.Dropped("of nobody") }))
	require.Empty(t, m.actionsOf(func() { m.Ready(1) }))
	require.Empty(t, m.actionsOf(func() { m.Fail(1, errSome) }))
	require.Empty(t, m.actionsOf(func() { m.Taken(begin, 1) }))
}

// Has reports whether a prompt waits or runs, or droid has it.
func (m *Machine) Has(id ID) bool { return m.InLine(id) || m.find(id) != nil }

// A cancelled prompt that droid had kept is interrupted when droid begins with it, since it threw away the one that ran.
func TestCancelledPromptBehindADroppedOne(t *testing.T) {
	m := steered(t)
	require.Equal(t, []Action{Withdraw{"request 2"}}, m.actionsOf(func() { m.CancelOne(begin, 2) }))
	require.Empty(t, m.actionsOf(func() { m.Dropped("request 1") }))
	require.True(t, m.InLine(1))
	require.Equal(t, []Action{Interrupt{}}, m.actionsOf(func() { m.Tick(begin) }))
}

// An interrupt for a prompt that droid has just ended may stop the next one, which nobody has cancelled.
func TestInterruptThatComesLate(t *testing.T) {
	for _, folded := range []bool{false, true} {
		m := steered(t)
		require.Contains(t, m.actionsOf(func() { m.CancelOne(begin, 1) }), Interrupt{})
		want := End{ID: 2, Err: ErrInterrupted, ByDroid: true}
		if folded {
			require.True(t, m.Folded("request 2"))
			want = End{ID: 2, Cancelled: true, ByDroid: true}
		}
		m.Ended("request 1", Completed, nil)
		m.Started(begin, "request 2")
		m.InterruptDone()
		require.Contains(t, m.actionsOf(func() { m.Ended("request 2", Cancelled, nil) }), want)
	}
}

// A message that droid gives back is no longer expected from it.
func TestWithdrawnPrompt(t *testing.T) {
	m := steered(t)
	m.CancelOne(begin, 2)
	require.Equal(t, []Action{Forget{"request 2"}, End{ID: 2, Cancelled: true}}, m.actionsOf(func() { m.Withdrawn("request 2") }))
	require.Empty(t, m.actionsOf(func() { m.Withdrawn("request 1") }), "it was not cancelled")
}

// A prompt that shares its turn with no other gets a message when its turn has ended.
func TestMessageBehindAPromptThatIsAlone(t *testing.T) {
	m := recording()
	m.Accept(1, Alone)
	m.Ready(1)
	m.Taken(begin, 1)
	require.Empty(t, joined(t, m, 2, Soon))
	require.Equal(t, []Action{NeedDroid{2}}, ended(m, "request 1", Completed, nil))
}

// The prompt behind one that droid refuses goes to droid while the turn runs.
func TestSteeringBehindARefusedPrompt(t *testing.T) {
	m := working(t)
	m.SetSteering(true)
	m.Accept(2, ToDroid)
	require.Empty(t, m.actionsOf(func() { m.Accept(3, ToDroid) }))
	require.Equal(t, []Action{Forget{"request 2"}, End{ID: 2, Err: errSome}, Send{3, "request 3", true}}, m.actionsOf(func() { m.Rejected(begin, 2, errSome) }))
}

// A steered prompt that droid had not accepted when it died is sent to the next droid. None is sent to a droid that is ending.
func TestSteeredPromptIsSentAgain(t *testing.T) {
	m := working(t)
	m.SetSteering(true)
	require.Equal(t, []Action{Send{2, "request 2", true}}, m.actionsOf(func() { m.Accept(2, ToDroid) }))
	m.DroidExited("request 1", true, errSome)
	require.Equal(t, []Action{End{ID: 1, Err: errSome}}, m.actionsOf(func() { m.DroidExitHandled(errSome) }))
	require.Equal(t, []Action{NeedDroid{2}}, m.actionsOf(func() { m.StartNext() }))

	m = working(t)
	m.SetSteering(true)
	m.SetPaused(true)
	require.Empty(t, m.actionsOf(func() { m.Accept(2, ToDroid) }))
}

// A prompt that may not join waits for the end of the turn, as do those behind it. A look that outlasts the turn decides nothing about the next.
func TestLooked(t *testing.T) {
	for _, late := range []bool{false, true} {
		var did []Action
		m := New(numbered(), func(a Action) { did = append(did, a) })
		actions := func(inputs func()) []Action {
			did = nil
			inputs()
			return did
		}
		m.Accept(1, ToDroid)
		m.Ready(1)
		m.Taken(begin, 1)
		m.SetSteering(true)
		require.Equal(t, []Action{Look{2}}, actions(func() { m.Accept(2, ToDroid) }))
		require.Empty(t, actions(func() { m.Accept(3, ToDroid) }), "one look at a time")
		if !late {
			require.Empty(t, actions(func() { m.Looked(2, false, nil) }))
			require.Empty(t, actions(func() { m.Accept(4, ToDroid) }))
			continue
		}
		require.Equal(t, []Action{End{ID: 1, Empty: true, ByDroid: true}, NeedDroid{2}}, actions(func() { m.Ended("request 1", Completed, nil); m.StartNext() }))
		require.Empty(t, actions(func() { m.Looked(2, false, nil) }))
		require.Equal(t, []Action{Send{2, "request 2", false}, Look{3}}, actions(func() { m.Ready(2); m.Taken(begin, 2) }))
	}
}
