package turns

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// asked is a change that notes that it begins.
func (r *recordedChanges) ask(m *Machine, name string) *Change {
	return r.askOf(m, Session, name)
}

func (r *recordedChanges) askOf(m *Machine, of Sphere, name string) *Change {
	c, actions := m.Change(of)
	if r.names == nil {
		r.names = map[*Change]string{}
	}
	r.names[c] = name
	r.carryOut(actions)
	return c
}

// recordedChanges does what is to be done for changes at once, and keeps the other actions.
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

// Change, prompt, change, prompt: each prompt goes to droid between the changes that it was
// sent between, and a change begins when droid has begun with the prompt before it.
func TestChangesAndPromptsInTurn(t *testing.T) {
	m, r := New(numbered()), new(recordedChanges)
	first := r.ask(m, "first")
	r.carryOut(m.Accept(1, ToDroid))
	second := r.ask(m, "second")
	r.carryOut(m.Accept(2, ToDroid))
	require.Equal(t, []string{"first"}, r.begun)
	require.Empty(t, r.take())
	require.False(t, m.Idle())
	require.Equal(t, 2, m.Changing())

	r.carryOut(m.Changed(first, nil))
	require.Equal(t, []Action{NeedDroid{1}}, r.take())
	r.carryOut(m.Ready(1))
	r.carryOut(m.Taken(begin, 1))
	require.Equal(t, []string{"first"}, r.begun, "droid has it and may not have asked the model")
	r.carryOut(m.Started(begin, "request 1"))
	require.Equal(t, []string{"first", "second"}, r.begun)
	r.carryOut(m.Changed(second, nil))
	known, actions := m.Ended("request 1", Completed, nil)
	require.True(t, known)
	r.carryOut(actions)
	r.take()
	r.carryOut(m.Written())
	require.Equal(t, []Action{NeedDroid{2}}, r.take())
}

// A change of the model waits until the model has been called for the prompt before it: until
// it says something, or for a while.
func TestChangeOfTheModelBehindAPrompt(t *testing.T) {
	for name, called := range map[string]func(m *Machine) []Action{
		"the model speaks": func(m *Machine) []Action { return m.Spoke() },
		"a while passes":   func(m *Machine) []Action { return m.Tick(begin.Add(CallTime)) },
	} {
		t.Run(name, func(t *testing.T) {
			m, r := New(numbered()), new(recordedChanges)
			m.Accept(1, ToDroid)
			m.Ready(1)
			m.Taken(begin, 1)
			_, due := m.Due()
			require.False(t, due)
			r.askOf(m, Calls, "model")
			r.carryOut(m.Started(begin, "request 1"))
			at, due := m.Due()
			require.True(t, due)
			require.Equal(t, begin.Add(CallTime), at)
			require.Empty(t, m.Tick(at.Add(-1)))
			require.Empty(t, r.begun)
			r.carryOut(called(m))
			require.Equal(t, []string{"model"}, r.begun)
			_, due = m.Due()
			require.False(t, due)
			_, actions := m.Change(Session)
			require.Empty(t, actions, "one after the other")
		})
	}
}

// While droid works on a prompt, a change is made at once, also before prompts that wait.
func TestChangeWhileAPromptRuns(t *testing.T) {
	for name, begins := range map[string]func(m *Machine) []Action{
		"droid has begun":    func(m *Machine) []Action { return m.Started(begin, "request 1") },
		"the model has":      func(m *Machine) []Action { return m.Spoke() },
		"it was cancelled":   func(m *Machine) []Action { return m.Cancel(begin) },
		"it failed":          func(m *Machine) []Action { return m.FailRunning(errSome) },
		"droid died":         func(m *Machine) []Action { m.Gone("", errSome); return m.Buried(errSome) },
		"a program of one's": nil,
	} {
		t.Run(name, func(t *testing.T) {
			m, r := New(numbered()), new(recordedChanges)
			if begins == nil {
				m.Accept(1, Process)
			} else {
				m.Accept(1, ToDroid)
				m.Ready(1)
				m.Taken(begin, 1)
			}
			r.ask(m, "it")
			if begins != nil {
				require.Empty(t, r.begun)
				r.carryOut(begins(m))
			}
			require.Equal(t, []string{"it"}, r.begun)
		})
	}
	m, r := New(numbered()), new(recordedChanges)
	m.Accept(1, ToDroid)
	m.Accept(2, ToDroid)
	m.Ready(1)
	m.Taken(begin, 1)
	m.Started(begin, "request 1")
	r.ask(m, "it")
	require.Equal(t, []string{"it"}, r.begun)
}

// Behind a command of ours a change is made at once, unless prompts wait for the command.
func TestChangeBehindACommand(t *testing.T) {
	m, r := New(numbered()), new(recordedChanges)
	m.Accept(1, Here)
	c := r.ask(m, "it")
	require.Equal(t, []string{"it"}, r.begun)
	m.Changed(c, nil)
	m.Accept(2, ToDroid)
	r.ask(m, "more")
	require.Len(t, r.begun, 1)
	m.Complete(1)
	r.carryOut(m.Written())
	require.Len(t, r.begun, 1)
	r.carryOut(m.CancelOne(begin, 2))
	require.Equal(t, []string{"it", "more"}, r.begun)
}

// A prompt that is held can be cancelled at once; the change goes on.
func TestCancelOfAHeldPrompt(t *testing.T) {
	m, r := New(numbered()), new(recordedChanges)
	r.ask(m, "it")
	m.Accept(1, ToDroid)
	require.Equal(t, []Action{End{ID: 1, Cancelled: true}}, m.Cancel(begin))
	require.Equal(t, 1, m.Changing())
}

// A change that fails ends the prompts behind it that were meant for it, and no others.
func TestFailedChange(t *testing.T) {
	m, r := New(numbered()), new(recordedChanges)
	m.SetHeld(true)
	m.Accept(1, ToDroid)
	c := r.ask(m, "it")
	m.Accept(2, ToDroid)
	require.Empty(t, r.begun)
	m.Cancel(begin)
	m.Accept(3, ToDroid)
	require.Equal(t, []Action{End{ID: 3, Err: errSome}}, m.Changed(c, errSome))
	require.Empty(t, m.Changed(c, errSome))
}

// A change that has not begun can be taken back. After Close none begins.
func TestWithdrawnChange(t *testing.T) {
	m, r := New(numbered()), new(recordedChanges)
	m.Accept(1, ToDroid)
	c := r.ask(m, "it")
	m.Accept(2, ToDroid)
	ok, actions := m.Withdraw(c)
	require.True(t, ok)
	require.Empty(t, actions)
	ok, _ = m.Withdraw(c)
	require.False(t, ok)
	require.Zero(t, m.Changing())
	d := r.ask(m, "other")
	m.Close(begin)
	m.Finish()
	require.Empty(t, r.begun)
	r.carryOut(m.Changed(d, nil))
	require.Empty(t, r.begun)
}

// A message that was said to the running prompt behind a change waits for the change.
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
	r.carryOut(m.Changed(c, nil))
	require.Equal(t, []Action{Send{2, "request 2"}}, r.take())
}

// A command that changes a setting is a change, too: what is asked later begins when it has ended, or, where it
// failed, when those are ended that were meant for it.
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
	r.carryOut(append(actions, m.Written()...))
	require.Contains(t, r.take(), Run{2})
	require.Empty(t, m.Accept(3, ToDroid))
	failing := m.Failing(2)
	r.carryOut(m.Complete(2))
	require.Empty(t, r.begun)
	r.take()
	r.carryOut(m.Changed(failing, errSome))
	require.Equal(t, []Action{End{ID: 3, Err: errSome}}, r.take())
	require.Equal(t, []string{"later"}, r.begun)
	require.Nil(t, m.Failing(2))

	m, r = New(numbered()), new(recordedChanges)
	m.Accept(1, ToDroid)
	m.Accept(2, Setting)
	r.ask(m, "later")
	r.carryOut(m.CancelOne(begin, 2))
	require.Empty(t, r.begun, "prompt 1 waits for a droid")
	r.carryOut(m.CancelOne(begin, 1))
	require.Equal(t, []string{"later"}, r.begun)
}

// A stricter mode passes prompts that droid does not have yet, and no other change.
func TestStricterMode(t *testing.T) {
	m, r := New(numbered()), new(recordedChanges)
	stricter := func() *Change { return r.askOf(m, Stricter, "stricter") }
	m.Accept(1, ToDroid)
	m.Accept(2, ToDroid)
	c := stricter()
	require.Equal(t, []string{"stricter"}, r.begun)
	m.Changed(c, nil)
	m.Ready(1)
	c = stricter()
	require.Len(t, r.begun, 1, "the prompt is on its way to droid")
	m.Taken(begin, 1)
	r.carryOut(m.Started(begin, "request 1"))
	require.Len(t, r.begun, 2)
	m.Changed(c, nil)
}
