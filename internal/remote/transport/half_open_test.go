package transport

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Connections that say nothing do not keep a client out: the oldest of them gives way. Those that have said something stay.
func TestSilentConnectionsGiveWay(t *testing.T) {
	s := start(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	speaks, err := Dial(ctx, s.dial, "ws://localhost/acp", "")
	require.NoError(t, err)
	require.NoError(t, speaks.Write(ctx, []byte(initialize)))
	wait(t, s.joined)
	_, err = speaks.Read(ctx)
	require.NoError(t, err)
	var silent []*Conn
	for range maxConnections {
		c, err := Dial(ctx, s.dial, "ws://localhost/acp", "")
		require.NoError(t, err, "%d are connected", len(silent))
		wait(t, s.joined)
		silent = append(silent, c)
	}
	_, err = silent[0].Read(ctx)
	require.Error(t, err)
	for _, c := range append(silent[1:], speaks) {
		require.NoError(t, c.Write(ctx, []byte(initialize)))
		_, err = c.Read(ctx)
		require.NoError(t, err)
	}
	_, err = Dial(ctx, s.dial, "ws://localhost/acp", "")
	require.ErrorContains(t, err, "503 Service Unavailable: The server has too many connections")
}

// Connections that send no request are bounded: the oldest end, and a client that comes then is let in.
func TestHalfOpenConnectionsGiveWay(t *testing.T) {
	s := start(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, err := Dial(ctx, s.dial, "ws://localhost/acp", "")
	require.NoError(t, err)
	var all []net.Conn
	for range maxHalfOpen + 44 {
		c, err := s.dial(ctx)
		require.NoError(t, err)
		defer c.Close()
		all = append(all, c)
	}
	require.NoError(t, all[0].SetReadDeadline(time.Now().Add(5*time.Second))) // before the server gives up waiting for its headers
	_, err = all[0].Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	next, err := Dial(ctx, s.dial, "ws://localhost/acp", "")
	require.NoError(t, err)
	for _, c := range []*Conn{client, next} {
		require.NoError(t, c.Write(ctx, []byte(initialize)), "a WebSocket is none of them")
		_, err = c.Read(ctx)
		require.NoError(t, err)
	}
}
