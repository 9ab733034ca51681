package transport

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/serve"
)

// someTokens are those of a server.
var someTokens = []Token{{"anna", "secret", serve.Full}, {"screen", "other", serve.Watch}}

func TestAdmission(t *testing.T) {
	s := start(t, func(o *Options) {
		o.Tokens = someTokens
		o.Origins = []string{"https://editor.example"}
		o.Hosts = []string{"127.0.0.1", "[::1]", "droid.example:7000"}
	})
	const token = "Authorization: Bearer secret"
	for _, row := range []struct {
		name    string
		headers []string
		status  int
		says    string
	}{
		{"all well", []string{token}, 426, "WebSocket alone"},
		{"another token", []string{"Authorization: Bearer other"}, 426, "WebSocket alone"},
		{"an empty token", []string{"Authorization: Bearer "}, 401, "token"},
		{"no token", nil, 401, "Authorization: Bearer"},
		{"wrong token", []string{"Authorization: Bearer secreT"}, 401, "token"},
		{"token in another way", []string{"Authorization: Basic secret"}, 401, "token"},
		{"a subprotocol without WebSocket", []string{"Sec-WebSocket-Protocol: acp, bearer.secret"}, 401, "token"},
		{"another host", []string{token, "Host: evil.example"}, 403, "Host header"},
		{"another host with our port", []string{token, "Host: evil.example:7000"}, 403, "Host header"},
		{"our name with another port", []string{token, "Host: droid.example:7001"}, 403, "Host header"},
		{"our name", []string{token, "Host: Droid.example:7000"}, 426, "WebSocket alone"},
		{"IPv6", []string{token, "Host: [::1]:7000"}, 426, "WebSocket alone"},
		{"IPv6 without port", []string{token, "Host: [::1]"}, 426, "WebSocket alone"},
		{"another origin", []string{token, "Origin: https://evil.example"}, 403, "--origin"},
		{"the origin without TLS", []string{token, "Origin: http://editor.example"}, 403, "--origin"},
		{"no origin's page", []string{token, "Origin: null"}, 403, "--origin"},
		{"two origins", []string{token, "Origin: https://editor.example", "Origin: https://evil.example"}, 403, "--origin"},
		{"our origin", []string{token, "Origin: https://editor.example"}, 426, "WebSocket alone"},
		{"our origin without token", []string{"Origin: https://editor.example"}, 401, "token"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := s.request("GET", "", row.headers...)
			require.Equal(t, row.status, got.status, got.body)
			require.Contains(t, got.body, row.says)
			require.Equal(t, row.status == 426, got.header.Get(versionHeader) != "", "strangers are told nothing of us")
		})
	}
}

// Metrics need a token; whether the server is ready needs none, and strangers do not learn why it is not.
func TestMetricsAndReady(t *testing.T) {
	var ready error
	refused := 0
	s := start(t, func(o *Options) {
		o.Tokens, o.Refused, o.Ready = someTokens, func(int) { refused++ }, func() error { return ready }
		o.Metrics = func(w io.Writer) error { _, err := io.WriteString(w, "up 1\n"); return err }
	})
	at := s.url
	s.url = strings.TrimSuffix(at, Path) + metricsPath
	require.Equal(t, 401, s.request("GET", "").status)
	require.Equal(t, 1, refused)
	got := s.request("GET", "", "Authorization: Bearer other")
	require.Equal(t, [2]any{200, "up 1"}, [2]any{got.status, got.body})
	require.Contains(t, got.header.Get("Content-Type"), "text/plain; version=0.0.4")
	require.Equal(t, 404, s.request("POST", "", "Authorization: Bearer other").status)
	s.url = strings.TrimSuffix(at, Path) + readyPath
	require.Equal(t, 200, s.request("GET", "").status)
	ready = errors.New("droid was not found")
	got = s.request("GET", "")
	require.Equal(t, [2]any{503, "not ready"}, [2]any{got.status, got.body})
}

// A probe has no token, and learns only that the server runs.
func TestHealth(t *testing.T) {
	s := start(t, func(o *Options) { o.Tokens, o.Hosts = someTokens, []string{"127.0.0.1"} })
	s.url = strings.TrimSuffix(s.url, Path) + healthPath
	got := s.request("GET", "")
	require.Equal(t, 200, got.status)
	require.Equal(t, "ok", got.body)
	require.Empty(t, got.header.Get(versionHeader))
	require.Equal(t, 403, s.request("GET", "", "Host: evil.example").status)
}
