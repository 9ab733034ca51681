package adapter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLoads: a load begins once, ends once, and stays until its response is written.
func TestLoads(t *testing.T) {
	var l loads
	require.Nil(t, l.open())
	a, b := &reload{}, &reload{}
	l.add(a)
	require.True(t, l.has(a))
	require.Same(t, a, l.open())
	require.False(t, l.end(b))
	require.True(t, l.end(a))
	require.False(t, l.end(a), "once")
	require.Nil(t, l.open(), "its response is being written")
	l.answered(b)
	l.answered(a)
	l.add(b)
	require.True(t, l.end(b), "one that was cancelled before it began")
	require.Nil(t, l.refusal())
	gone := unknownSession("x")
	l.neverOpened(gone)
	require.Same(t, gone, l.refusal())
}
