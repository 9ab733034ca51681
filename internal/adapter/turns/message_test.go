package turns

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// joined has a message join the running prompt.
func joined(t *testing.T, m *recorder, id ID, when When) []Action {
	t.Helper()
	require.True(t, m.Joinable())
	require.Equal(t, ID(1), m.Host())
	return m.actionsOf(func() { m.Join(id, when) })
}

// TestCancelOverTheWords stops the turn that answers them.
func TestCancelOverTheWords(t *testing.T) {
	m := working(t)
	joined(t, m, 2, Behind)
	ended(m, "request 1", Completed, nil)
	m.Ready(2)
	require.Equal(t, []Action{RefuseQuestions{}}, m.actionsOf(func() { m.CancelOne(begin, 1) }), "no interrupt before droid has them")
	require.True(t, m.Cancelled(1))
	require.Equal(t, []Action{Interrupt{}}, m.actionsOf(func() { m.Taken(begin, 2) }))
	require.Equal(t, []Action{Interrupt{}}, m.actionsOf(func() { m.Tick(at(time.Second)) }))
	require.Equal(t, []Action{Merged{ID: 2}, End{ID: 1, Cancelled: true, ByDroid: true}}, ended(m, "request 2", Completed, nil))
}

// TestMessageThatDroidDoesNotTake leaves the prompt alone.
func TestMessageThatDroidDoesNotTake(t *testing.T) {
	m := working(t)
	joined(t, m, 2, Soon)
	require.Equal(t, []Action{Forget{"request 2"}, Merged{ID: 2, Err: errSome, Unsent: true}}, m.actionsOf(func() { m.Rejected(begin, 2, errSome) }))
	m.Shown()
	require.Equal(t, []Action{End{ID: 1, ByDroid: true}}, ended(m, "request 1", Completed, nil))
}

// TestMessageThatFails after droid had it fails the prompt.
func TestMessageThatFails(t *testing.T) {
	m := working(t)
	joined(t, m, 2, Soon)
	m.Taken(begin, 2)
	require.Equal(t, []Action{Merged{ID: 2, Err: errSome}}, ended(m, "request 2", Failed, errSome))
	require.Equal(t, []Action{End{ID: 1, Err: errSome, ByDroid: true}}, ended(m, "request 1", Completed, nil))
}

// TestFirstFailureEndsThePrompt checks that its waiting messages are not sent, and that droid's output is read to the end.
func TestFirstFailureEndsThePrompt(t *testing.T) {
	m := working(t)
	joined(t, m, 2, Soon)
	m.Taken(begin, 2)
	joined(t, m, 3, Soon)
	m.Taken(begin, 3)
	joined(t, m, 4, Behind)
	require.Empty(t, ended(m, "request 1", Completed, nil))
	require.Equal(t, []Action{Merged{ID: 2, Err: errSome}, Merged{ID: 4, Err: errSome, Unsent: true}}, ended(m, "request 2", Failed, errSome))
	require.Equal(t, []Action{Merged{ID: 3}, End{ID: 1, Err: errSome, ByDroid: true}}, ended(m, "request 3", Completed, nil))
}

// TestTurnThatDroidCancelsByItself checks that such a turn does not count as cancelled by the user: their messages are sent.
func TestTurnThatDroidCancelsByItself(t *testing.T) {
	m := working(t)
	joined(t, m, 2, Behind)
	require.Equal(t, []Action{NeedDroid{2}}, ended(m, "request 1", Cancelled, nil))
}

// A prompt ends with the first failure of it and its messages, whether the rest succeeds or fails otherwise.
func TestFirstFailureIsTheEnd(t *testing.T) {
	first, later := errors.New("first"), errors.New("later")
	for name, play := range map[string]func(m *recorder){
		"of the prompt": func(m *recorder) {
			m.Ended("request 1", Failed, first)
			m.Ended("request 2", Completed, nil)
		},
		"of the prompt, and a message fails": func(m *recorder) {
			m.Ended("request 1", Failed, first)
			m.Ended("request 2", Failed, later)
		},
		"of a message, and the prompt fails": func(m *recorder) {
			m.Join(3, Soon)
			m.Taken(begin, 3)
			m.Ended("request 2", Failed, first)
			m.Ended("request 1", Failed, later)
			m.Ended("request 3", Completed, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := working(t)
			m.Join(2, Soon)
			m.Taken(begin, 2)
			actions := m.actionsOf(func() { play(m) })
			require.Equal(t, End{ID: 1, Err: first, ByDroid: true}, actions[len(actions)-1])
		})
	}
}

// TestMessageThatFailsBeforeItIsAccepted had reached droid all the same: droid's answer to it is on its way.
func TestMessageThatFailsBeforeItIsAccepted(t *testing.T) {
	m := working(t)
	joined(t, m, 2, Soon)
	require.Equal(t, []Action{Merged{ID: 2, Err: errSome}}, ended(m, "request 2", Failed, errSome))
}
