package adapter

import (
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"droid-acp/internal/protocol"
)

// TestLoads: one runs at a time, in order, and each is answered once.
func TestLoads(t *testing.T) {
	answers := map[string][]string{}
	load := func(name string) *reload {
		return &reload{done: func(_ protocol.SessionResult, err *acp.RequestError) {
			answers[name] = append(answers[name], err.Message)
		}}
	}
	var l loads
	require.Nil(t, l.begin())
	require.Nil(t, l.current())
	require.False(t, l.pending())
	a, b, c := load("a"), load("b"), load("c")
	l.add(a)
	l.add(b)
	require.True(t, l.pending())
	require.False(t, l.runs(a))
	require.False(t, l.end(a), "it has not begun")
	require.Same(t, a, l.begin())
	require.Nil(t, l.begin(), "one runs")
	require.True(t, l.runs(a))
	require.False(t, l.end(b))
	require.True(t, l.end(a))
	require.False(t, l.end(a), "once")
	require.Same(t, b, l.begin())
	l.add(c)
	l.refuse(invalidRequest("no"))
	require.Same(t, b, l.current(), "the one that runs is answered by what it waits for")
	require.True(t, l.end(b))
	require.False(t, l.pending())
	require.Nil(t, l.refusal())

	d, e := load("d"), load("e")
	l.add(d)
	l.begin()
	l.end(d)
	l.add(e)
	gone := unknownSession("x")
	l.neverOpened(gone)
	require.False(t, l.pending())
	require.Same(t, gone, l.refusal())
	require.Equal(t, map[string][]string{"c": {invalidRequest("no").Message}, "e": {gone.Message}}, answers)
}
