package adapter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHolding: what is held is let go once, also when it was held too late.
func TestHolding(t *testing.T) {
	released := map[string]int{}
	release := func(name string) func() { return func() { released[name]++ } }
	var h holding
	h.letGo()
	require.True(t, h.begin("a"))
	require.False(t, h.begin("a"), "it is being held already")
	h.held("a", release("a"))
	require.Empty(t, released)
	require.True(t, h.begin("b"))
	require.Equal(t, map[string]int{"a": 1}, released)
	require.True(t, h.begin("c"), "before b was held")
	h.held("b", release("b"))
	require.Equal(t, 1, released["b"], "it went on to another one")
	h.held("c", release("c"))
	h.held("c", release("c again"))
	require.Equal(t, 1, released["c again"], "it is held")
	h.letGo()
	h.letGo()
	h.held("c", release("late"))
	require.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1, "c again": 1, "late": 1}, released)
}
