package main

import (
	"bytes"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An editor on stdio reaches a server over TLS whose certificate is the user's own. The token is in no log and no error.
func TestConnect(t *testing.T) {
	t.Parallel()
	example := httptest.NewTLSServer(nil) // for its certificate
	defer example.Close()
	k := byHand(t)
	certFile, keyFile, token := filepath.Join(k.dir, "cert"), filepath.Join(k.dir, "key"), filepath.Join(k.dir, "token")
	writePair(t, example.TLS.Certificates[0], certFile, keyFile)
	secret := strings.Repeat("s", 64)
	require.NoError(t, os.WriteFile(token, []byte(secret), 0o600))
	s := k.serve("--listen", "127.0.0.1:0", "--tls-cert", certFile, "--tls-key", keyFile, "--token-file", token)
	_, port, err := net.SplitHostPort(s.address(t))
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	connect := func(args ...string) (stdout, stderr string, err error) {
		var out, log bytes.Buffer
		cmd := exec.CommandContext(t.Context(), self, append([]string{"connect", "--log-level", "debug"}, args...)...)
		cmd.Env, cmd.Stdout, cmd.Stderr = k.env, &out, &log
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n")
		err = cmd.Run()
		require.NotContains(t, out.String()+log.String(), "sss")
		return out.String(), log.String(), err
	}
	stdout, _, err := connect("--token-file", token, "--ca-file", certFile, "wss://127.0.0.1:"+port)
	require.NoError(t, err)
	require.Contains(t, stdout, `"loadSession":true`)

	_, stderr, err := connect("--token-file", token, "wss://127.0.0.1:"+port)
	require.Error(t, err)
	require.Contains(t, stderr, "is of an authority that this machine does not trust. If it is yours, give it with --ca-file.")
	other := filepath.Join(k.dir, "other")
	require.NoError(t, os.WriteFile(other, []byte(strings.Repeat("o", 64)), 0o600))
	stdout, _, err = connect("--token-file", other, "--ca-file", certFile, "wss://127.0.0.1:"+port)
	require.Error(t, err)
	require.Contains(t, stdout, "does not accept the token.")
	s.stop(k)
}

// ps, attach and stop reach a server elsewhere; only a token with the role full ends something there.
func TestCommandsOverTheNetwork(t *testing.T) {
	t.Parallel()
	k := byHand(t)
	tokens, full, watch := filepath.Join(k.dir, "tokens"), filepath.Join(k.dir, "full"), filepath.Join(k.dir, "watch")
	secret := map[string]string{full: strings.Repeat("f", 64), watch: strings.Repeat("w", 64)}
	for path, text := range map[string]string{tokens: "anna full " + secret[full] + "\nbob watch " + secret[watch] + "\n", full: secret[full], watch: secret[watch]} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	s := k.serve("--listen", "127.0.0.1:0", "--token-file", tokens)
	_, port, err := net.SplitHostPort(s.address(t))
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	run := func(name, token string, args ...string) (output string, err error) {
		cmd := exec.CommandContext(t.Context(), self, append([]string{name, "--token-file", token, "ws://127.0.0.1:" + port}, args...)...)
		cmd.Env = k.env
		text, err := cmd.CombinedOutput()
		require.NotContains(t, string(text), "fff")
		return string(text), err
	}
	for _, token := range []string{full, watch} {
		output, err := run("ps", token)
		require.NoError(t, err)
		require.Contains(t, output, "and has no sessions")
		output, err = run("attach", token)
		require.Error(t, err)
		require.Contains(t, output, "no session")
	}
	output, err := run("stop", watch)
	require.Error(t, err)
	require.Contains(t, output, "The token has the role watch, and only full may end what runs here.")
	output, err = run("stop", full, "abc")
	require.Error(t, err)
	require.Contains(t, output, "abc")
	output, err = run("ps", tokens)
	require.Error(t, err)
	require.Contains(t, output, "does not have a token alone")
	other := filepath.Join(k.dir, "other")
	require.NoError(t, os.WriteFile(other, []byte(strings.Repeat("o", 64)), 0o600))
	output, err = run("ps", other)
	require.Error(t, err)
	require.Contains(t, output, "does not accept the token.")
	output, err = run("stop", full)
	require.NoError(t, err, output)
	output, err = run("ps", full)
	require.Error(t, err)
	require.Contains(t, output, "Nothing listens at")
}
