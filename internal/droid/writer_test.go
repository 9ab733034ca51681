package droid

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/jsonrpc"
)

type closable struct{ bytes.Buffer }

func (*closable) Close() error { return nil }

// TestBacklogOfTheWriter: one line of any length is taken where none waits, then
// only what fits; answers to droid always.
func TestBacklogOfTheWriter(t *testing.T) {
	out := new(closable)
	w := newWriter(out)
	w.max = 4
	require.False(t, w.isFull([]byte("longer\n")))
	first, err := w.Put([]byte("longer\n"))
	require.NoError(t, err)
	require.True(t, w.isFull([]byte("x\n")))
	_, err = w.Put([]byte("answer\n"))
	require.NoError(t, err)

	require.True(t, w.Remove(first))
	require.False(t, w.Remove(first), "once")
	require.True(t, w.isFull([]byte("y\n")), "the answer still waits")

	w.Close()
	_, err = w.Put([]byte("late\n"))
	require.ErrorIs(t, err, jsonrpc.ErrClosed)
	w.run(func() {})
	require.Equal(t, "answer\n", out.String())
	require.Zero(t, w.Size())
}
