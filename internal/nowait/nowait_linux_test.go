package nowait

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPipesHaveTheCalls: where the kernel is new enough, a pipe does not go the slow way.
func TestPipesHaveTheCalls(t *testing.T) {
	in, out := pipe(t)
	w, r := NewWriter(out), NewReader(in)
	if w.WriteNow([]byte("text")) == 0 {
		t.Skip("this kernel has no such calls for pipes (before 6.4)")
	}
	n, err := r.Read(make([]byte, 8))
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.NotNil(t, r.conn)
	require.NotNil(t, w.conn)
}

// TestNoMemory: what passes through costs none.
func TestNoMemory(t *testing.T) {
	in, out := pipe(t)
	w, r, text, buf := NewWriter(out), NewReader(in), []byte("text"), make([]byte, 8)
	if w.WriteNow(text) == 0 {
		t.Skip("this kernel has no such calls for pipes (before 6.4)")
	}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		w.WriteNow(text)
		_, _ = r.Read(buf)
	}))
}
