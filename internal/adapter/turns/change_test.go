package turns

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A change that waits until droid has taken a prompt begins before droid gets the next one, for which it would wait, too.
func TestChangeBetweenSteeredPrompts(t *testing.T) {
	m := working(t)
	m.Started(begin, "request 1")
	m.SetSteering(true)
	require.Equal(t, []Action{Send{2, "request 2", true}}, m.actionsOf(func() { m.Accept(2, ToDroid) }))
	require.Empty(t, m.actionsOf(func() { m.Accept(3, ToDroid) }))
	c := m.Change(General)
	require.False(t, c.Begun())
	require.Equal(t, []Action{Begin{c}, Send{3, "request 3", true}}, m.actionsOf(func() { m.Taken(begin, 2) }))
}

// A change of the model waits until the model has been called for the prompt before it: until
// it says something, or for a while.
func TestChangeOfTheModelBehindAPrompt(t *testing.T) {
	for name, called := range map[string]func(m *recorder){
		"the model speaks": func(m *recorder) { m.Shown() },
		"a while passes":   func(m *recorder) { m.Tick(begin.Add(ModelCallTime)) },
	} {
		t.Run(name, func(t *testing.T) {
			m := working(t)
			_, due := m.Due()
			require.False(t, due)
			c := m.Change(ModelCalls)
			m.Started(begin, "request 1")
			at, due := m.Due()
			require.True(t, due)
			require.Equal(t, begin.Add(ModelCallTime), at)
			require.Empty(t, m.actionsOf(func() { m.Tick(at.Add(-1)) }))
			require.False(t, c.Begun())
			called(m)
			require.True(t, c.Begun())
			_, due = m.Due()
			require.False(t, due)
			require.False(t, m.Change(General).Begun(), "one after the other")
		})
	}
}

// An interrupt is repeated before a change of the model is due that waits longer.
func TestChangeOfTheModelBehindACancelledPrompt(t *testing.T) {
	m := working(t)
	m.Started(begin, "request 1")
	m.SetSteering(true)
	m.Accept(2, ToDroid) // the change waits until droid has it
	m.Change(ModelCalls)
	m.CancelOne(begin, 1)
	next, due := m.Due()
	require.True(t, due)
	require.Equal(t, begin.Add(interruptAgain), next)
}

// A message to the running prompt that was sent after a change waits for the change.
func TestMessageBehindAChange(t *testing.T) {
	m := recording()
	m.Accept(1, ToDroid)
	m.Ready(1)
	c := m.Change(General)
	require.Equal(t, []Action{Begin{c}}, m.actionsOf(func() { m.Join(2, Soon); m.Taken(begin, 1); m.Started(begin, "request 1") }))
	require.Equal(t, []Action{Send{2, "request 2", true}}, m.actionsOf(func() { m.FinishChange(c, nil) }))
}

// A command that changes a setting is a change, too: later requests begin when it has ended or, if it failed, when those have ended that
// were meant for it.
func TestCommandThatIsAChange(t *testing.T) {
	m := working(t)
	m.Started(begin, "request 1")
	require.Empty(t, m.actionsOf(func() { m.Accept(2, Setting) }))
	later := m.Change(General)
	require.False(t, later.Begun())
	require.Contains(t, ended(m, "request 1", Completed, nil), Run{2})
	require.Empty(t, m.actionsOf(func() { m.Accept(3, ToDroid) }))
	require.Equal(t, []Action{End{ID: 2}, Begin{later}}, m.actionsOf(func() { m.Complete(2) }))
	require.Empty(t, m.actionsOf(func() { m.Accept(4, ToDroid) }))
	require.Equal(t, []Action{End{ID: 4, Err: errSome}}, m.actionsOf(func() { m.FailSince(3, errSome) }), "not the one itself")
	require.Equal(t, []Action{End{ID: 3, Err: errSome}}, m.actionsOf(func() { m.FailSince(2, errSome) }))

	m = recording()
	m.Accept(1, ToDroid)
	m.Accept(2, Setting)
	later = m.Change(General)
	m.CancelOne(begin, 2)
	require.False(t, later.Begun(), "prompt 1 waits for a droid")
	m.CancelOne(begin, 1)
	require.True(t, later.Begun())
}

// A stricter mode passes prompts, however far they are, and no other change.
func TestStricterMode(t *testing.T) {
	m := recording()
	m.Accept(1, ToDroid)
	m.Accept(2, ToDroid)
	c := m.Change(Stricter)
	require.True(t, c.Begun())
	m.FinishChange(c, nil)
	m.Ready(1)
	c = m.Change(Stricter)
	require.True(t, c.Begun(), "the prompt is on its way to droid")
	m.FinishChange(c, nil)
	m.Taken(begin, 1)
	c = m.Change(Stricter)
	require.True(t, c.Begun(), "droid may have a turn of its own to end before it begins with the prompt")
	m.FinishChange(c, nil)
	m.Started(begin, "request 1")

	m.Accept(3, ModelSetting)
	require.Equal(t, 1, m.Changing(General))
	require.Zero(t, m.Changing(Stricter))
	c = m.Change(Stricter)
	require.True(t, c.Begun(), "a command for another model waits for the end of the turn, and a stricter mode does not wait for it")
	m.FinishChange(c, nil)
	m.Accept(4, Setting)
	require.Equal(t, 1, m.Changing(Stricter))
	require.False(t, m.Change(Stricter).Begun(), "the command may change the mode")
}

// A stricter mode that is set while a prompt is being prepared does not wait for another model that was chosen before it, and waits for the
// prompt.
func TestStricterModeBehindAChangeOfTheModel(t *testing.T) {
	m := recording()
	m.Accept(1, ToDroid)
	model := m.Change(ModelCalls)
	require.Zero(t, m.Changing(Stricter))
	c := m.Change(Stricter)
	require.True(t, c.Begun())
	require.False(t, model.Begun())
	m.Ready(1)
	m.Taken(begin, 1)
	m.Started(begin, "request 1")
	m.Shown()
	require.True(t, model.Begun(), "they share nothing but the calls to droid")
	m.FinishChange(c, nil)
	require.Equal(t, 1, m.Changing(General))
}

// TestLostChangesSpareCommandsThatWait checks that requests after a /mode that has not begun still wait for it.
func TestLostChangesSpareCommandsThatWait(t *testing.T) {
	m := working(t)
	require.Empty(t, m.actionsOf(func() { m.Accept(2, Setting) }))
	require.Empty(t, m.actionsOf(func() { m.Accept(3, ToDroid) }))
	require.Empty(t, m.actionsOf(func() { m.LoseChanges(errSome) }))
	require.Equal(t, 1, m.Changing(General))
}
