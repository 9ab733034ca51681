package droid

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

type closable struct{ bytes.Buffer }

func (*closable) Close() error { return nil }

// TestBacklogOfTheWriter: one line of any length is taken where none waits, then
// only what fits; answers to droid always.
func TestBacklogOfTheWriter(t *testing.T) {
	out := new(closable)
	w := newWriter(out)
	w.max = 4
	first, err := w.put([]byte("longer\n"), false)
	require.NoError(t, err)
	_, err = w.put([]byte("x\n"), false)
	require.ErrorIs(t, err, ErrBacklog)
	_, err = w.put([]byte("answer\n"), true)
	require.NoError(t, err)

	require.True(t, w.Withdraw(first))
	require.False(t, w.Withdraw(first), "once")
	_, err = w.put([]byte("y\n"), false)
	require.ErrorIs(t, err, ErrBacklog, "the answer still waits")

	w.Close()
	_, err = w.put([]byte("late\n"), true)
	require.ErrorIs(t, err, ErrClosed)
	w.run(func() {})
	require.Equal(t, "answer\n", out.String())
	require.Zero(t, w.Size())
}
