package turns

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// asked is a change that notes that it begins.
func (r *recordedChanges) ask(m *Machine, name string) *Change {
	return r.askOf(m, General, name)
}

func (r *recordedChanges) askOf(m *Machine, of Scope, name string) *Change {
	c, actions := m.Change(of)
	if r.names == nil {
		r.names = map[*Change]string{}
	}
	r.names[c] = name
	r.carryOut(actions)
	return c
}

// recordedChanges carries out the actions for changes at once, and records the others.
type recordedChanges struct {
	names   map[*Change]string
	begun   []string
	actions []Action
}

func (r *recordedChanges) carryOut(actions []Action) {
	for _, a := range actions {
		if b, ok := a.(Begin); ok {
			r.begun = append(r.begun, r.names[b.Change])
			continue
		}
		r.actions = append(r.actions, a)
	}
}

func (r *recordedChanges) take() []Action {
	actions := r.actions
	r.actions = nil
	return actions
}

// A change that waits until droid has taken a prompt begins before droid gets the next one, for which it would wait, too.
func TestChangeBetweenSteeredPrompts(t *testing.T) {
	m := working(t)
	m.Started(begin, "request 1")
	m.SetSteering(true)
	require.Equal(t, []Action{Send{2, "request 2"}}, m.Accept(2, ToDroid))
	require.Empty(t, m.Accept(3, ToDroid))
	c, actions := m.Change(General)
	require.Empty(t, actions)
	require.Equal(t, []Action{Begin{c}, Send{3, "request 3"}}, m.Taken(begin, 2))
}

// A change of the model waits until the model has been called for the prompt before it: until
// it says something, or for a while.
func TestChangeOfTheModelBehindAPrompt(t *testing.T) {
	for name, called := range map[string]func(m *Machine) []Action{
		"the model speaks": func(m *Machine) []Action { return m.Shown() },
		"a while passes":   func(m *Machine) []Action { return m.Tick(begin.Add(ModelCallTime)) },
	} {
		t.Run(name, func(t *testing.T) {
			m, r := New(numbered()), new(recordedChanges)
			m.Accept(1, ToDroid)
			m.Ready(1)
			m.Taken(begin, 1)
			_, due := m.Due()
			require.False(t, due)
			r.askOf(m, ModelCalls, "model")
			r.carryOut(m.Started(begin, "request 1"))
			at, due := m.Due()
			require.True(t, due)
			require.Equal(t, begin.Add(ModelCallTime), at)
			require.Empty(t, m.Tick(at.Add(-1)))
			require.Empty(t, r.begun)
			r.carryOut(called(m))
			require.Equal(t, []string{"model"}, r.begun)
			_, due = m.Due()
			require.False(t, due)
			_, actions := m.Change(General)
			require.Empty(t, actions, "one after the other")
		})
	}
}

// An interrupt is repeated before a change of the model is due that waits longer.
func TestChangeOfTheModelBehindACancelledPrompt(t *testing.T) {
	m, r := working(t), new(recordedChanges)
	m.Started(begin, "request 1")
	m.SetSteering(true)
	m.Accept(2, ToDroid) // the change waits until droid has it
	r.askOf(m, ModelCalls, "model")
	m.CancelOne(begin, 1)
	next, due := m.Due()
	require.True(t, due)
	require.Equal(t, begin.Add(interruptAgain), next)
}

// A message to the running prompt that was sent after a change waits for the change.
func TestMessageBehindAChange(t *testing.T) {
	m, r := New(numbered()), new(recordedChanges)
	m.Accept(1, ToDroid)
	m.Ready(1)
	c := r.ask(m, "it")
	_, ok, actions := m.Join(2, Soon)
	require.True(t, ok)
	r.carryOut(actions)
	r.carryOut(m.Taken(begin, 1))
	r.carryOut(m.Started(begin, "request 1"))
	require.Equal(t, []string{"it"}, r.begun)
	require.Empty(t, r.take())
	r.carryOut(m.FinishChange(c, nil))
	require.Equal(t, []Action{Send{2, "request 2"}}, r.take())
}

// A command that changes a setting is a change, too: later requests begin when it has ended or, if it failed, when those have ended that
// were meant for it.
func TestCommandThatIsAChange(t *testing.T) {
	m, r := New(numbered()), new(recordedChanges)
	m.Accept(1, ToDroid)
	m.Ready(1)
	m.Taken(begin, 1)
	m.Started(begin, "request 1")
	require.Empty(t, m.Accept(2, Setting))
	r.ask(m, "later")
	require.Empty(t, r.begun)
	_, actions := m.Ended("request 1", Completed, nil)
	r.carryOut(append(actions, m.StartNext()...))
	require.Contains(t, r.take(), Run{2})
	require.Empty(t, m.Accept(3, ToDroid))
	r.carryOut(m.Complete(2))
	require.Equal(t, []Action{End{ID: 2}}, r.take())
	require.Equal(t, []string{"later"}, r.begun)
	require.Empty(t, m.Accept(4, ToDroid))
	r.carryOut(m.FailSince(2, errSome))
	require.Equal(t, []Action{End{ID: 3, Err: errSome}, End{ID: 4, Err: errSome}}, r.take())

	m, r = New(numbered()), new(recordedChanges)
	m.Accept(1, ToDroid)
	m.Accept(2, Setting)
	r.ask(m, "later")
	r.carryOut(m.CancelOne(begin, 2))
	require.Empty(t, r.begun, "prompt 1 waits for a droid")
	r.carryOut(m.CancelOne(begin, 1))
	require.Equal(t, []string{"later"}, r.begun)
}

// A stricter mode passes prompts, however far they are, and no other change.
func TestStricterMode(t *testing.T) {
	m, r := New(numbered()), new(recordedChanges)
	stricter := func() *Change { return r.askOf(m, Stricter, "stricter") }
	m.Accept(1, ToDroid)
	m.Accept(2, ToDroid)
	c := stricter()
	require.Equal(t, []string{"stricter"}, r.begun)
	m.FinishChange(c, nil)
	m.Ready(1)
	c = stricter()
	require.Len(t, r.begun, 2, "the prompt is on its way to droid")
	m.FinishChange(c, nil)
	m.Taken(begin, 1)
	c = stricter()
	require.Len(t, r.begun, 3, "droid may have a turn of its own to end before it begins with the prompt")
	m.FinishChange(c, nil)
	r.carryOut(m.Started(begin, "request 1"))

	m.Accept(3, ModelSetting)
	require.Equal(t, 1, m.Changing(General))
	require.Zero(t, m.Changing(Stricter))
	c = stricter()
	require.Len(t, r.begun, 4, "a command for another model waits for the end of the turn, and a stricter mode does not wait for it")
	m.FinishChange(c, nil)
	m.Accept(4, Setting)
	require.Equal(t, 1, m.Changing(Stricter))
	stricter()
	require.Len(t, r.begun, 4, "the command may change the mode")
}

// A stricter mode that is set while a prompt is being prepared does not wait for another model that was chosen before it, and waits for the
// prompt.
func TestStricterModeBehindAChangeOfTheModel(t *testing.T) {
	m, r := New(numbered()), new(recordedChanges)
	m.Accept(1, ToDroid)
	r.askOf(m, ModelCalls, "model")
	require.Zero(t, m.Changing(Stricter))
	c := r.askOf(m, Stricter, "stricter")
	require.Equal(t, []string{"stricter"}, r.begun)
	r.carryOut(append(m.Ready(1), m.Taken(begin, 1)...))
	r.carryOut(append(m.Started(begin, "request 1"), m.Shown()...))
	require.Equal(t, []string{"stricter", "model"}, r.begun, "they share nothing but the calls to droid")
	r.carryOut(m.FinishChange(c, nil))
	require.Equal(t, 1, m.Changing(General))
}

// TestLostChangesSpareCommandsThatWait checks that requests after a /mode that has not begun still wait for it.
func TestLostChangesSpareCommandsThatWait(t *testing.T) {
	m := working(t)
	require.Empty(t, m.Accept(2, Setting))
	require.Empty(t, m.Accept(3, ToDroid))
	require.Empty(t, m.LoseChanges(errSome))
	require.Equal(t, 1, m.Changing(General))
}
