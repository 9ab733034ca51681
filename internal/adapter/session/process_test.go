package session_test

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// endsSlowly is the stdin of a droid that takes a while to be gone when its stdout has ended,
// as one does whose tools are ended first.
type endsSlowly struct{ io.WriteCloser }

func (w endsSlowly) Close() error {
	time.Sleep(2 * time.Second)
	return w.WriteCloser.Close()
}

// Requests while a dead droid has not exited yet go to the next one.
func TestAskedWhileDroidEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sessions, die := fakedroid.WithSessions(new(fakedroid.Sessions)), func() {}
		e := begin(t, func(n int) (*droid.Client, error) {
			if n > 1 {
				return fakeDroid(says("hi"), sessions), nil
			}
			in, stdin := io.Pipe()
			stdout, out := io.Pipe()
			die = func() { _ = out.Close() }
			go func() {
				_ = fakedroid.Run(in, out, says("hi"), sessions)
				_ = in.Close()
			}()
			return droid.NewClient(stdout, endsSlowly{stdin}, zap.NewNop()), nil
		})
		require.Equal(t, "end_turn", e.run("one"))
		die()
		time.Sleep(time.Second)
		require.Equal(t, "end_turn", e.run("two"))
		require.Contains(t, e.updates(), "thought: droid had ended and was started again; the session continues.")
	})
}
