package turns

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// joined has a message join the running prompt.
func joined(t *testing.T, m *Machine, id ID, when When) []Action {
	t.Helper()
	host, ok, actions := m.Join(id, when)
	require.True(t, ok)
	require.Equal(t, ID(1), host)
	return actions
}

// TestWordsGoBehindTheTurn: before what waits, and the prompt ends with them.
func TestWordsGoBehindTheTurn(t *testing.T) {
	m := working(t)
	require.Empty(t, m.Accept(2, ToDroid))
	require.Empty(t, joined(t, m, 3, Behind))
	require.Equal(t, []Action{NeedDroid{3}}, ended(m, "request 1", Completed, nil))
	require.True(t, m.Has(1))
	require.False(t, m.Idle())
	require.Equal(t, []Action{Send{3, "request 2"}}, m.Ready(3))
	require.Empty(t, m.Taken(begin, 3))
	m.Spoke()
	require.Equal(t, []Action{Merged{ID: 3}, End{ID: 1, ByDroid: true}}, ended(m, "request 2", Completed, nil))
	require.False(t, m.Has(1))
	require.Equal(t, []Action{NeedDroid{2}}, m.Written())
}

// TestWordsWaitForAnInterrupt that may still reach droid.
func TestWordsWaitForAnInterrupt(t *testing.T) {
	m := steered(t)
	m.CancelOne(begin, 1)
	require.Equal(t, []Action{End{ID: 1, Cancelled: true, ByDroid: true}}, ended(m, "request 1", Cancelled, nil))
	host, ok, _ := m.Join(3, Behind)
	require.True(t, ok)
	require.Equal(t, ID(2), host)
	require.Empty(t, m.Written())
	require.Empty(t, ended(m, "request 2", Completed, nil))
	require.True(t, m.Has(2))
	require.Equal(t, []Action{NeedDroid{3}}, m.InterruptDone())
}

// TestWordsAreNotSentBehindAFailure, or behind a cancel.
func TestWordsAreNotSentBehindAFailure(t *testing.T) {
	m := working(t)
	joined(t, m, 2, Behind)
	require.Equal(t, []Action{Merged{ID: 2, Err: errSome, Unsent: true}, End{ID: 1, Err: errSome, ByDroid: true}},
		ended(m, "request 1", Failed, errSome))

	m = working(t)
	joined(t, m, 2, Behind)
	require.Equal(t, []Action{Merged{ID: 2, Unsent: true}, Interrupt{}, RefuseAsk{}}, m.Cancel(begin))
	require.Equal(t, []Action{End{ID: 1, Cancelled: true, ByDroid: true}}, ended(m, "request 1", Cancelled, nil))

	m = working(t)
	joined(t, m, 2, Behind)
	m.Gone("", errSome)
	require.Equal(t, []Action{Merged{ID: 2, Err: errSome, Unsent: true}, End{ID: 1, Err: errSome}}, m.Buried(errSome))
}

// TestWordsThatFail fail the prompt: with no droid for them, one that does not take them,
// or one that dies over them.
func TestWordsThatFail(t *testing.T) {
	behind := func() *Machine {
		m := working(t)
		joined(t, m, 2, Behind)
		require.Equal(t, []Action{NeedDroid{2}}, ended(m, "request 1", Completed, nil))
		return m
	}
	m := behind()
	require.Equal(t, []Action{Merged{ID: 2, Err: errSome, Unsent: true}, End{ID: 1, Err: errSome}}, m.Fail(2, errSome))

	m = behind()
	m.Ready(2)
	require.Equal(t, []Action{Forget{"request 2"}, Merged{ID: 2, Err: errSome, Unsent: true}, End{ID: 1, Err: errSome}}, m.Refused(begin, 2, errSome))

	m = behind()
	m.Ready(2)
	m.Taken(begin, 2)
	m.Gone("", errSome)
	require.Equal(t, []Action{Merged{ID: 2, Err: errSome}, End{ID: 1, Err: errSome}}, m.Buried(errSome))

	m = behind()
	require.Equal(t, []Action{Merged{ID: 2, Unsent: true}, End{ID: 1, Cancelled: true}, RefuseAsk{}}, m.Cancel(begin))
}

// TestCancelOverTheWords stops the turn that answers them.
func TestCancelOverTheWords(t *testing.T) {
	m := working(t)
	joined(t, m, 2, Behind)
	ended(m, "request 1", Completed, nil)
	m.Ready(2)
	require.Equal(t, []Action{RefuseAsk{}}, m.CancelOne(begin, 1), "not before droid has them")
	require.True(t, m.Cancelled(1))
	require.Equal(t, []Action{Interrupt{}}, m.Taken(begin, 2))
	require.Equal(t, []Action{Interrupt{}}, m.Tick(at(time.Second)))
	require.Equal(t, []Action{Merged{ID: 2}, End{ID: 1, Cancelled: true, ByDroid: true}}, ended(m, "request 2", Completed, nil))
}

// TestMessageGoesIntoTheTurn: whatever the follow-up behaviour, before what waits; what
// droid took into the turn ends with it.
func TestMessageGoesIntoTheTurn(t *testing.T) {
	m := working(t)
	require.Empty(t, m.Accept(2, ToDroid))
	require.Equal(t, []Action{Send{3, "request 2"}}, joined(t, m, 3, Soon))
	require.Empty(t, joined(t, m, 4, Soon), "one after the other")
	require.Equal(t, []Action{Send{4, "request 3"}}, m.Taken(begin, 3))
	require.Empty(t, m.Taken(begin, 4))
	require.True(t, m.Folded("request 2"))
	m.Spoke()
	require.Empty(t, ended(m, "request 1", Completed, nil), "droid goes on with the messages")
	require.Equal(t, []Action{Merged{ID: 3}}, ended(m, "request 2", Completed, nil))
	require.Equal(t, []Action{Merged{ID: 4}, End{ID: 1, ByDroid: true, Empty: true}}, ended(m, "request 3", Completed, nil))
	require.Equal(t, []Action{NeedDroid{2}}, m.Written())
}

// TestMessageThatDroidDoesNotTake leaves the prompt alone.
func TestMessageThatDroidDoesNotTake(t *testing.T) {
	m := working(t)
	joined(t, m, 2, Soon)
	require.Equal(t, []Action{Forget{"request 2"}, Merged{ID: 2, Err: errSome, Unsent: true}}, m.Refused(begin, 2, errSome))
	m.Spoke()
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

// TestFirstFailureEndsThePrompt: what waits behind it is not sent, and what droid has is
// heard to the end.
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

// TestTurnThatDroidCancelsByItself is no word of the user's: what they said goes out.
func TestTurnThatDroidCancelsByItself(t *testing.T) {
	m := working(t)
	joined(t, m, 2, Behind)
	require.Equal(t, []Action{NeedDroid{2}}, ended(m, "request 1", Cancelled, nil))
}

// TestNothingJoins what is not there, is answered here, was cancelled or is closed.
func TestNothingJoins(t *testing.T) {
	no := func(m *Machine) {
		t.Helper()
		host, ok, actions := m.Join(9, Soon)
		require.False(t, ok)
		require.Zero(t, host)
		require.Empty(t, actions)
		require.False(t, m.Has(9))
	}
	no(New(numbered()))
	for _, kind := range []Kind{Here, Process} {
		m := New(numbered())
		m.Accept(1, kind)
		no(m)
	}
	m := working(t)
	m.Cancel(begin)
	no(m)
	m = working(t)
	m.Gone("", errSome)
	no(m)
	m = working(t)
	m.Close(begin)
	no(m)
}

// A message that droid has answered had reached it, also if the word that droid took it comes
// later than its end.
func TestMessageIsAnsweredBeforeItIsTaken(t *testing.T) {
	m := New(numbered())
	m.Accept(1, ToDroid)
	m.Ready(1)
	m.Taken(begin, 1)
	_, ok, actions := m.Join(2, Soon)
	require.True(t, ok)
	require.Equal(t, []Action{Send{2, "request 2"}}, actions)
	m.Ended("request 1", Completed, nil)
	_, actions = m.Ended("request 2", Completed, nil)
	require.Equal(t, Merged{ID: 2}, actions[0])
	require.Empty(t, m.Taken(begin, 2))
}
