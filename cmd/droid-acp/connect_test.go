package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Wrong calls of connect are reported, without the token.
func TestConnectUsage(t *testing.T) {
	dir := t.TempDir()
	token, open := filepath.Join(dir, "token"), filepath.Join(dir, "open")
	require.NoError(t, os.WriteFile(token, []byte(strings.Repeat("s", 40)), 0o600))
	require.NoError(t, os.WriteFile(open, []byte(strings.Repeat("s", 40)), 0o600))
	require.NoError(t, os.Chmod(open, 0o644))
	for args, want := range map[string]string{
		"":                               "connect needs the address of a server, such as wss://HOST:PORT",
		"wss://a wss://b":                "connect needs the address of a server",
		"ws://far.example":               "it needs TLS: write wss://",
		"wss://far.example":              "connect needs --token-file",
		"--token-file X wss://a.example": "there is no file X",
		"--token-file " + open + " wss://a.example":                 "the token in " + open + " is not secret: others can read or write it",
		"--token-file " + token + " --ca-file X wss://a.example":    "the authority's certificate cannot be read",
		"--token-file " + token + " --token=secret wss://a.example": "unknown flag: --token",
	} {
		r := command("", append([]string{"connect"}, strings.Fields(args)...)...)
		require.Equal(t, exitUsage, r.code, args)
		require.Contains(t, r.stderr, want)
		require.NotContains(t, r.stderr, "sss")
		require.Empty(t, r.stdout)
	}
}

// The editor gets the reason on its request.
func TestConnectToNothing(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(strings.Repeat("s", 40)), 0o600))
	r := command(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`+"\n", "connect", "--token-file", token, "ws://127.0.0.1:1")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stdout, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Nothing listens at ws://127.0.0.1:1/acp. Start the server there, or correct the port.`)
	require.Contains(t, r.stderr, "droid-acp connect: Nothing listens at")
}
