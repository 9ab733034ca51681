package transport

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAdmission(t *testing.T) {
	s := start(t, func(o *Options) {
		o.Token = "secret"
		o.Origins = []string{"https://editor.example"}
		o.Hosts = []string{"127.0.0.1", "[::1]", "droid.example:7000"}
	})
	const token, json = "Authorization: Bearer secret", "Content-Type: application/json"
	for _, row := range []struct {
		name    string
		headers []string
		status  int
		says    string
	}{
		{"all well", []string{json, token}, 200, ""},
		{"no token", []string{json}, 401, "Authorization: Bearer"},
		{"wrong token", []string{json, "Authorization: Bearer secreT"}, 401, "token"},
		{"token in another way", []string{json, "Authorization: Basic secret"}, 401, "token"},
		{"a subprotocol without WebSocket", []string{json, "Sec-WebSocket-Protocol: acp, bearer.secret"}, 401, "token"},
		{"another host", []string{json, token, "Host: evil.example"}, 403, "Host header"},
		{"another host with our port", []string{json, token, "Host: evil.example:7000"}, 403, "Host header"},
		{"our name with another port", []string{json, token, "Host: droid.example:7001"}, 403, "Host header"},
		{"our name", []string{json, token, "Host: Droid.example:7000"}, 200, ""},
		{"IPv6", []string{json, token, "Host: [::1]:7000"}, 200, ""},
		{"IPv6 without port", []string{json, token, "Host: [::1]"}, 200, ""},
		{"another origin", []string{json, token, "Origin: https://evil.example"}, 403, "--origin"},
		{"the origin without TLS", []string{json, token, "Origin: http://editor.example"}, 403, "--origin"},
		{"no origin's page", []string{json, token, "Origin: null"}, 403, "--origin"},
		{"two origins", []string{json, token, "Origin: https://editor.example", "Origin: https://evil.example"}, 403, "--origin"},
		{"our origin", []string{json, token, "Origin: https://editor.example"}, 200, ""},
		{"our origin without token", []string{json, "Origin: https://editor.example"}, 401, "token"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := s.request("POST", initialize, row.headers...)
			require.Equal(t, row.status, got.status, got.body)
			require.Contains(t, got.body, row.says)
			require.Equal(t, row.status == 200, got.header.Get(VersionHeader) != "", "strangers are told nothing of us")
		})
	}
}

// A page of a known origin may use fetch; no other one learns anything.
func TestCrossOrigin(t *testing.T) {
	s := start(t, func(o *Options) { o.Token, o.Origins = "secret", []string{"https://editor.example"} })
	asked := []string{"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type"}
	got := s.request("OPTIONS", "", append(asked, "Origin: https://editor.example")...)
	require.Equal(t, 204, got.status)
	require.Equal(t, "https://editor.example", got.header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, got.header.Get("Access-Control-Allow-Headers"), "Authorization")
	require.Contains(t, got.header.Get("Access-Control-Expose-Headers"), ConnectionHeader)
	got = s.request("OPTIONS", "", append(asked, "Origin: https://evil.example")...)
	require.Equal(t, 403, got.status)
	require.Empty(t, got.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, 401, s.request("OPTIONS", "").status)
}

// A probe has no token, and learns that the server runs, and no more.
func TestHealth(t *testing.T) {
	s := start(t, func(o *Options) { o.Token, o.Hosts = "secret", []string{"127.0.0.1"} })
	s.url = strings.TrimSuffix(s.url, Path) + HealthPath
	got := s.request("GET", "")
	require.Equal(t, 200, got.status)
	require.Equal(t, "ok", got.body)
	require.Empty(t, got.header.Get(VersionHeader))
	require.Equal(t, 403, s.request("GET", "", "Host: evil.example").status)
}
