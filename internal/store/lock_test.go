package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLock: what is held is released once, also when it was held too late.
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
	end(l.Held("a", release("a")))
	require.Empty(t, released)
	end(l.Begin("b"))
	require.Equal(t, map[string]int{"a": 1}, released)
	end(l.Begin("c")) // before b was held
	end(l.Held("b", release("b")))
	require.Equal(t, 1, released["b"], "it went on to another one")
	end(l.Held("c", release("c")))
	end(l.Held("c", release("c again")))
	require.Equal(t, 1, released["c again"], "it is held")
	end(l.Begin(""))
	end(l.Begin(""))
	end(l.Held("c", release("late")))
	require.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1, "c again": 1, "late": 1}, released)
}

// TestNone: in a store without a place nothing is noted, and nothing is found.
func TestNone(t *testing.T) {
	s := None()
	release, err := s.MarkOpen("a")
	require.NoError(t, err)
	release()
	require.False(t, s.IsOpen("a"))
	_, err = s.Find("a")
	require.ErrorIs(t, err, errNone)
	require.Empty(t, s.Title("a"))
}
