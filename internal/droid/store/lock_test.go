package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLock checks that a lock is released once, even if it was obtained too late.
func TestLock(t *testing.T) {
	released := map[string]int{}
	release := func(name string) func() { return func() { released[name]++ } }
	end := func(f func()) {
		if f != nil {
			f()
		}
	}
	var l Lock
	end(l.Begin("a"))
	end(l.SetHeld("a", release("a"), time.Time{}))
	require.Empty(t, released)
	end(l.Begin("b"))
	require.Equal(t, map[string]int{"a": 1}, released)
	end(l.Begin("c")) // before b was held
	end(l.SetHeld("b", release("b"), time.Time{}))
	require.Equal(t, 1, released["b"], "it went on to another one")
	end(l.SetHeld("c", release("c"), time.Time{}))
	end(l.SetHeld("c", release("c again"), time.Time{}))
	require.Equal(t, 1, released["c again"], "it is held")
	end(l.Begin(""))
	end(l.Begin(""))
	end(l.SetHeld("c", release("late"), time.Time{}))
	require.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1, "c again": 1, "late": 1}, released)
}

// TestLockThatFailed: what could not be held is tried again, and it is still known that others had it open.
func TestLockThatFailed(t *testing.T) {
	var l Lock
	_ = l.Begin("a")
	l.SetOthers("a", true)
	l.MarkFailed("b")
	require.True(t, l.Is("a"))
	l.MarkFailed("a")
	require.False(t, l.Is("a"))
	require.Nil(t, l.Begin("a"))
	require.True(t, l.Is("a"))
	others, known := l.Others()
	require.True(t, others)
	require.False(t, known, "they are looked for again")
	require.False(t, l.Holds("a"))
	require.Nil(t, l.SetHeld("a", func() {}, time.Time{}))
	l.MarkFailed("a")
	require.True(t, l.Holds("a"))
	_ = l.Begin("b")
	others, _ = l.Others()
	require.False(t, others)
}

// TestJoined checks that a process with an open session notices each process that opens it later, once.
func TestJoined(t *testing.T) {
	synctest.Test(t, testJoined)
}

func testJoined(t *testing.T) {
	s := newStore(t)
	other := New(s.root, s.log)
	var l Lock
	_ = l.Begin("a")
	require.False(t, l.Joined("a", time.Now()), "it is not held yet")
	hold := func(s interface {
		MarkOpen(id string) (func(), error)
	}) (release func()) {
		release, err := s.MarkOpen("a")
		require.NoError(t, err)
		t.Cleanup(release)
		return release
	}
	mine := hold(s)
	require.Nil(t, l.SetHeld("a", mine, s.Marked("a")))
	require.False(t, l.Joined("a", s.Marked("a")))
	for range 2 {
		time.Sleep(time.Second)
		hold(other)
		require.True(t, l.Joined("a", s.Marked("a")))
		require.False(t, l.Joined("a", s.Marked("a")))
	}
	require.False(t, l.Joined("b", time.Now()))
	require.Zero(t, s.Marked("none"))
	require.False(t, l.Joined("a", s.Marked("none")))
}

// TestNone: in a store without a place nothing is noted, and nothing is found.
func TestNone(t *testing.T) {
	s := None()
	release, err := s.MarkOpen("a")
	require.NoError(t, err)
	release()
	require.False(t, isOpen(t, s, "a"))
	_, err = s.Find("a")
	require.ErrorIs(t, err, errNone)
	require.Empty(t, s.Title("a"))
}
