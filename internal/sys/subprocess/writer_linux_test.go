package subprocess

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestPipesHaveTheCall: where the kernel is new enough, a pipe does not go the slow way.
func TestPipesHaveTheCall(t *testing.T) {
	_, out := pair(t)
	w := NewWriter(out)
	if w.WriteNow([]byte("text")) == 0 {
		t.Skip("this kernel has no such call for pipes (before 6.4)")
	}
	require.NotNil(t, w.conn)
}

// TestWriteDoesNotWakeIdleReader checks that data written while nobody reads is no event for Go's poller, and is there for the next reader.
func TestWriteDoesNotWakeIdleReader(t *testing.T) {
	in, out := pair(t)
	r := newPipeReader(in).(*pipe)
	defer r.Close()
	events := func() (n int) {
		require.NoError(t, r.conn.Control(func(e uintptr) {
			n, _ = unix.EpollWait(int(e), make([]unix.EpollEvent, 1), 0)
		}))
		return n
	}
	buf := make([]byte, 8)
	for _, text := range []string{"one", "two"} {
		_, err := r.readNow(buf)
		require.ErrorIs(t, err, unix.EAGAIN, "nothing is there")
		_, err = out.WriteString(text)
		require.NoError(t, err)
		require.Equal(t, 1, events(), "who waits is woken")
		n, err := r.Read(buf)
		require.NoError(t, err)
		require.Equal(t, text, string(buf[:n]))
		_, err = out.WriteString("more")
		require.NoError(t, err)
		require.Zero(t, events(), "nobody waits")
		n, err = r.Read(buf)
		require.NoError(t, err)
		require.Equal(t, "more", string(buf[:n]))
	}
}

// TestLargeTransferThroughPipe checks that no byte is lost between a waiting reader and a waiting writer.
func TestLargeTransferThroughPipe(t *testing.T) {
	in, out := pair(t)
	r := newPipeReader(in)
	defer r.Close()
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		for rest, n := data, 1; len(rest) > 0; n = n*7%4099 + 1 {
			n = min(n, len(rest))
			_, _ = out.Write(rest[:n])
			rest = rest[n:]
		}
		_ = out.Close()
	}()
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
}
