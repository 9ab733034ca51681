package adapter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHolding: what is held is let go once, also when it was held too late.
func TestHolding(t *testing.T) {
	released := map[string]int{}
	release := func(name string) func() { return func() { released[name]++ } }
	end := func(f func()) {
		if f != nil {
			f()
		}
	}
	var h holding
	end(h.begin("a"))
	end(h.held("a", release("a")))
	require.Empty(t, released)
	end(h.begin("b"))
	require.Equal(t, map[string]int{"a": 1}, released)
	end(h.begin("c")) // before b was held
	end(h.held("b", release("b")))
	require.Equal(t, 1, released["b"], "it went on to another one")
	end(h.held("c", release("c")))
	end(h.held("c", release("c again")))
	require.Equal(t, 1, released["c again"], "it is held")
	end(h.begin(""))
	end(h.begin(""))
	end(h.held("c", release("late")))
	require.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1, "c again": 1, "late": 1}, released)
}
