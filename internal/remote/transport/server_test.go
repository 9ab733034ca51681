package transport

import (
	"crypto/tls"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// A request that is not a WebSocket upgrade gets an explanation.
func TestRouting(t *testing.T) {
	s := start(t, nil)
	for _, row := range []struct {
		name, method, body string
		headers            []string
		status             int
		says               string
	}{
		{"a message of Streamable HTTP", "POST", initialize, []string{"Content-Type: application/json"}, 426, "WebSocket alone"},
		{"a stream of it", "GET", "", []string{"Accept: text/event-stream", "Acp-Connection-Id: x"}, 426, "WebSocket alone"},
		{"its end", "DELETE", "", []string{"Acp-Connection-Id: x"}, 426, "WebSocket alone"},
		{"upgrade without key", "GET", "", []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"}, 400, "Sec-WebSocket-Key"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := s.request(row.method, row.body, row.headers...)
			require.Equal(t, row.status, got.status, got.body)
			require.Contains(t, got.body, row.says)
			require.Equal(t, row.status == 426, got.header.Get("Upgrade") == "websocket", "RFC 9110, 15.5.22")
		})
	}
	s.url = "http://" + s.host + "/other"
	require.Equal(t, 404, s.request("GET", "").status)
}

func TestServer(t *testing.T) {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	server := Server(http.NotFoundHandler(), config, zap.NewNop())
	require.Equal(t, config, server.TLSConfig)
	require.Positive(t, server.ReadHeaderTimeout)
	require.Zero(t, server.WriteTimeout, "WebSockets stay open")
	require.Zero(t, server.ReadTimeout, "the same")
}
