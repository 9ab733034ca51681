package transport

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// Each connection and each refused request has one line in the log, which names the token and does not have it.
func TestAccessLog(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	s := start(t, func(o *Options) {
		o.Tokens, o.Hosts, o.Log = someTokens, []string{"localhost", "127.0.0.1"}, zap.New(core)
	})
	line := func() map[string]any {
		t.Helper()
		all := logs.TakeAll()
		require.Len(t, all, 1)
		fields := all[0].ContextMap()
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		require.NotContains(t, string(text), "secret")
		fields["message"] = all[0].Message
		require.NotEmpty(t, fields["from"])
		return fields
	}
	for _, row := range []struct{ header, reason string }{
		{"Authorization: Bearer nosecret", "The token is missing or wrong"},
		{"Host: evil.example", "This server does not go by the name that the Host header has"},
		{"Origin: https://evil.example", "Pages of this origin may not connect"},
	} {
		s.request("GET", "", row.header)
		got := line()
		require.Equal(t, [2]any{"refused a connection", row.reason}, [2]any{got["message"], got["reason"]})
		require.NotContains(t, got, "token")
	}
	s.request("GET", "", "Authorization: Bearer secret")
	got := line()
	require.Equal(t, [3]any{"anna", "full", int64(426)}, [3]any{got["token"], got["role"], got["status"]})

	conn, err := Dial(context.Background(), s.dial, "ws://localhost/acp", "other")
	require.NoError(t, err)
	receiver := wait(t, s.joined)
	got = line()
	require.Equal(t, [4]any{"a client connected", "screen", "watch", receiver.options.Connection}, [4]any{got["message"], got["token"], got["role"], got["connection"]})
	require.NoError(t, conn.Close())
	wait(t, receiver.gone)
	s.h.Close(context.Background()) // the line is written
	got = line()
	require.Equal(t, [4]any{"a client disconnected", "screen", receiver.options.Connection, "it left"}, [4]any{got["message"], got["token"], got["connection"], got["reason"]})
}
