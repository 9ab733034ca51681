//go:build unix

package keep

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Fronts that start at once get to one server, which leads a session of its own; when it was
// killed, the next front starts another one.
func TestConnectStarts(t *testing.T) {
	path := socketPath(t)
	s, started := starter(t, "server", path)
	processes := make(chan int)
	const several = 4
	for range several {
		go func() {
			conn, err := Connect(t.Context(), path, s)
			if err != nil {
				t.Error(err)
				processes <- -1
				return
			}
			defer conn.Close()
			status, err := NewClient(path).Status(t.Context())
			if err != nil {
				t.Error(err)
			}
			processes <- status.Process
		}()
	}
	first := <-processes
	for range several - 1 {
		require.Equal(t, first, <-processes)
	}
	session, err := unix.Getsid(first)
	require.NoError(t, err)
	require.Equal(t, first, session)

	started.awaitOne(t) // the others have seen that it listens
	require.NoError(t, unix.Kill(first, unix.SIGKILL))
	awaitNobody(t, path)
	require.FileExists(t, path, "it was killed")
	conn, err := Connect(t.Context(), path, s)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	status, err := NewClient(path).Status(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, first, status.Process)
	require.NoError(t, NewClient(path).Stop(t.Context()))
	require.NoFileExists(t, path)
	require.NoFileExists(t, lockOf(path))
}

// awaitNobody waits until nobody takes connections.
func awaitNobody(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		conn, err := Connect(t.Context(), path, nil)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, patience, time.Millisecond)
}

// A server that does not start is told with the end of its log, and what to do.
func TestServerThatDoesNotStart(t *testing.T) {
	path := socketPath(t)
	s, _ := starter(t, "broken", path)
	_, err := Connect(t.Context(), path, s)
	require.ErrorContains(t, err, "the server that keeps sessions did not start: it has ended (exit status 3). Its log "+s.Log+" ends with:\nthis server is broken\nRun `droid-acp serve` in a terminal to see more")
	s.Program = "/no/such/program"
	_, err = Connect(t.Context(), path, s)
	require.ErrorContains(t, err, "the server that keeps sessions was not started: ")
	s.Log = "/dev/null/log"
	_, err = Connect(t.Context(), path, s)
	require.ErrorContains(t, err, "the server's log cannot be written: ")
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	s, _ = starter(t, "", path)
	s.Program, s.Args = sleep, []string{"0.1"}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(os.ErrClosed)
	_, err = s.connect(ctx, path)
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestLogBeginsAnew(t *testing.T) {
	s := &Starter{Log: filepath.Join(t.TempDir(), "log")}
	require.NoError(t, os.WriteFile(s.Log, make([]byte, maxLog+1), 0o600))
	for range 2 {
		log, err := s.openLog()
		require.NoError(t, err)
		_, err = log.WriteString("line\n")
		require.NoError(t, err)
		require.NoError(t, log.Close())
	}
	require.Equal(t, "line\nline", s.lastWords())
}
