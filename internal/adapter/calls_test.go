package adapter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// recordedCalls is a queue that notes when it is idle, and its mail.
func recordedCalls() (q *callQueue, idle *int, mail *[]func()) {
	idle, mail = new(int), new([]func())
	working := 0
	queue := newCallQueue(func(f func()) bool { *mail = append(*mail, f); return true }, func() { working++ }, func() {
		*idle++
		if working != *idle {
			panic("each end has its beginning")
		}
	})
	return &queue, idle, mail
}

// Calls go one after the other, in order.
func TestCallsRunInTurn(t *testing.T) {
	q, idle, _ := recordedCalls()
	var ran []string
	ends := map[string]func(){}
	for _, name := range []string{"a", "b", "c"} {
		q.add(func(end func()) { ran, ends[name] = append(ran, name), end })
	}
	require.Equal(t, []string{"a"}, ran)
	require.True(t, q.busy())
	ends["a"]()
	require.Equal(t, []string{"a", "b"}, ran)
	ends["a"]()
	require.Equal(t, []string{"a", "b"}, ran, "its end counts once")
	ends["b"]()
	require.Zero(t, *idle)
	ends["c"]()
	require.Equal(t, []string{"a", "b", "c"}, ran)
	require.Equal(t, 1, *idle)
	require.False(t, q.busy())
	ends["c"]()
	require.Equal(t, 1, *idle)
}

// A call may end at once, and add another one while it runs.
func TestCallAddsAnother(t *testing.T) {
	q, idle, _ := recordedCalls()
	var ran []string
	q.add(func(end func()) {
		defer end()
		q.add(func(end func()) { defer end(); ran = append(ran, "second") })
		ran = append(ran, "first")
	})
	require.Equal(t, []string{"first", "second"}, ran)
	require.Equal(t, 1, *idle)
	require.False(t, q.busy())
}

// A call that panics holds up none behind it, and the panic goes on.
func TestPanicOfACall(t *testing.T) {
	q, idle, mail := recordedCalls()
	second := false
	require.PanicsWithValue(t, "test", func() { q.add(func(func()) { panic("test") }) })
	q.add(func(end func()) { second = true; end() })
	require.False(t, second)
	require.Len(t, *mail, 1)
	(*mail)[0]()
	require.True(t, second)
	require.Equal(t, 1, *idle)

	require.PanicsWithValue(t, "test", func() { q.add(func(end func()) { defer end(); panic("test") }) })
	require.Equal(t, 2, *idle)
	(*mail)[1]()
	require.Equal(t, 2, *idle, "it had ended before it panicked")
}
