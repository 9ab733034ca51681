//go:build unix

package keep

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"droid-acp/internal/sys/subprocess"
)

// Bridges that start at the same time use one server, in its own session; after it was killed, the next bridge starts another one.
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
			status, err := NewClient(path, typed).Status(t.Context())
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
	status, err := NewClient(path, typed).Status(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, first, status.Process)
	require.NoError(t, NewClient(path, typed).Stop(t.Context()))
	require.NoFileExists(t, path)
	require.NoFileExists(t, lockOf(path))
}

// awaitNobody waits until connections are refused.
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

// fakeServer is a started server without a process.
type fakeServer chan struct{}

func (f fakeServer) Exited() <-chan struct{} { return f }
func (f fakeServer) Exit() subprocess.Exit   { return subprocess.Exit{} }

// A started server may have to wait for one that is ending, for up to 25 s. Connect waits as long as the server itself.
func TestConnectWhileAnotherEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := socketPath(t)
		s := &Starter{Command: typed, Log: filepath.Join(t.TempDir(), "log")}
		require.NoError(t, os.WriteFile(s.Log, []byte("no end"), 0o600))
		awaited := func() (time.Duration, error) {
			began := time.Now()
			conn, err := s.await(t.Context(), path, make(fakeServer))
			if err == nil {
				require.NoError(t, conn.Close())
			}
			return time.Since(began), err
		}
		ending := listenAt(t, path)
		require.NoError(t, ending.Close())
		took, err := awaited()
		require.ErrorContains(t, err, "did not start: it takes no connections after 40s. Its log "+s.Log+" ends with:\nno end\n")
		require.Equal(t, startTime+lockWait, took)

		next := make(chan *Listener)
		go func() {
			time.Sleep(25 * time.Second)
			ending.Release()
			next <- listenAt(t, path)
		}()
		took, err = awaited()
		require.NoError(t, err)
		require.InDelta(t, 25*time.Second, took, float64(2*pause))
		closeListener(<-next)

		took, err = awaited()
		require.ErrorContains(t, err, "it takes no connections after 10s", "nobody ends")
		require.Equal(t, startTime, took)
	})
}

// The error of a server that does not start has the end of its log, and a remedy.
func TestServerDoesNotStart(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	s, _ := starter(t, "broken", path)
	_, err := Connect(t.Context(), path, s)
	require.ErrorContains(t, err, "the server that keeps sessions did not start: it has ended (exit status 3). Its log "+s.Log+" ends with:\nthis server is broken\nRun <serve> in a terminal to see more")
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
	require.Equal(t, "line\nline", s.logTail())
}

// The error of a server that accepts connections and does not answer (SIGSTOP) names its process, and the command that ends it.
func TestHungServer(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	s, started := starter(t, "server", path)
	conn, err := Connect(t.Context(), path, s)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	client := &Client{path: path, command: typed, limit: patience}
	status, err := client.Status(t.Context())
	require.NoError(t, err)
	want := fmt.Sprintf("the server that keeps sessions (process %d) does not answer, also not after 100ms; <stop --force> ends it and what it runs", status.Process)
	hang := func() {
		t.Helper()
		require.NoError(t, unix.Kill(status.Process, unix.SIGSTOP))
		client.limit = 100 * time.Millisecond
		require.Eventually(t, func() bool { // the signal may not have arrived yet
			_, err = client.Status(t.Context())
			return err != nil
		}, patience, time.Millisecond)
		require.EqualError(t, err, want)
	}
	hang()
	require.EqualError(t, client.Stop(t.Context()), want)
	err = client.CallTimeout(t.Context(), client.limit, func(ctx context.Context) (net.Conn, error) { return Connect(ctx, path, s) }, func(ctx context.Context, dial Dial) error {
		_, err := dial(ctx)
		require.NoError(t, err)
		<-ctx.Done()
		return ctx.Err()
	})
	require.EqualError(t, err, want)
	err = client.CallTimeout(t.Context(), client.limit, func(context.Context) (net.Conn, error) { return nil, ErrNotRunning }, func(ctx context.Context, dial Dial) error {
		_, err := dial(ctx)
		return fmt.Errorf("sending the handshake: %s", err)
	})
	require.Equal(t, ErrNotRunning, err, "as it was, without the words of libraries")
	client.limit = patience
	require.NoError(t, unix.Kill(status.Process, unix.SIGCONT))
	_, err = client.Status(t.Context())
	require.NoError(t, err, "it goes on where it was")
	hang()
	require.NoError(t, (&Client{path: path, command: typed, limit: 300 * time.Millisecond}).ForceStop(t.Context()))
	for _, d := range started.list() {
		<-d.Exited()
	}
	require.ErrorIs(t, client.ForceStop(t.Context()), ErrNotRunning)
}

// A server that answers is ended gracefully.
func TestForcePolite(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	p := newAdminServer(listenAt(t, path))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-p.stopped
		p.close()
	}()
	require.NoError(t, NewClient(path, typed).ForceStop(t.Context()))
	<-ended
}
