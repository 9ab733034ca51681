package keep

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

func TestAdmin(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	client := NewClient(path, typed)
	_, err := client.Status(t.Context())
	require.ErrorIs(t, err, ErrNotRunning)
	require.ErrorIs(t, client.Stop(t.Context()), ErrNotRunning)

	p := newAdminServer(listenAt(t, path))
	status, err := client.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, p.Status(), status)
	require.NoError(t, client.StopSession(t.Context(), "abc"))
	require.EqualError(t, client.StopSession(t.Context(), "a b&c"), "no session a b&c is open here")
	require.EqualError(t, client.KillSession(t.Context(), "a"), "no session a by force is open here")
	require.EqualError(t, client.StopIdle(t.Context(), time.Millisecond), "1 sessions still work")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-p.stopped
		p.close()
	}()
	require.NoError(t, client.StopIdle(t.Context(), time.Hour))
	<-ended
	require.Equal(t, []string{"abc"}, p.ended)
	require.ErrorIs(t, client.Stop(t.Context()), ErrNotRunning)
}

// A server that ends and accepts no more connections is waited for.
func TestStopOfAServerThatEnds(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	client, p := NewClient(path, typed), newAdminServer(listenAt(t, path))
	p.shut()
	for _, stop := range []func(context.Context) error{client.Stop, client.ForceStop} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		err := stop(ctx)
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrNotRunning)
	}
	p.listener.Release()
	require.ErrorIs(t, client.Stop(t.Context()), ErrNotRunning)
}

// A server that starts while another one ends is none that "stop" waits for.
func TestStopWhileAnotherStarts(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	p := newAdminServer(listenAt(t, path))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-p.stopped
		p.shut()
		next := make(chan *Listener)
		go func() {
			l, err := Listen(t.Context(), path, zap.NewNop()) // waits for the lock
			if err != nil {
				t.Error(err)
			}
			next <- l
		}()
		p.listener.Release()
		second := newAdminServerAs(<-next, -1)
		<-second.stopped
		second.close()
	}()
	require.NoError(t, NewClient(path, typed).Stop(t.Context()))
	require.Eventually(t, func() bool { return NewClient(path, typed).Stop(t.Context()) == nil }, patience, time.Millisecond)
	<-ended
}
