package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/keep"
	"droid-acp/internal/remote/serve"
	"droid-acp/internal/remote/transport"
	"droid-acp/internal/testing/acptest"
)

// farClient is a client over TCP.
type farClient struct {
	t    *testing.T
	conn *transport.Conn
}

func dialServer(t *testing.T, address, token string) *farClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := transport.Dial(ctx, func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) }, "ws://"+address+transport.Path, token)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	c := &farClient{t, conn}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	c.response(1)
	return c
}

func (c *farClient) send(format string, args ...any) {
	c.t.Helper()
	require.NoError(c.t, c.conn.Write(c.t.Context(), fmt.Appendf(nil, format, args...)))
}

// await reads messages until ok accepts one.
func (c *farClient) await(what string, ok func(acptest.Message) bool) (m acptest.Message) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for {
		text, err := c.conn.Read(ctx)
		require.NoError(c.t, err, "waiting for %s", what)
		m = acptest.Message{}
		require.NoError(c.t, json.Unmarshal(text, &m))
		m.Raw = string(text)
		if ok(m) {
			return m
		}
	}
}

func (c *farClient) response(id int) acptest.Message {
	c.t.Helper()
	return c.await(fmt.Sprint("the response to ", id), func(m acptest.Message) bool { return m.Method == "" && string(m.ID) == fmt.Sprint(id) })
}

func (c *farClient) newSession(dir string) string {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, dir)
	var result struct{ SessionID string }
	answer := c.response(2)
	require.NoError(c.t, json.Unmarshal(answer.Result, &result), answer.Raw)
	require.NotEmpty(c.t, result.SessionID, answer.Raw)
	return result.SessionID
}

// withDemoDroid is a home for servers, with the demo's droid.
func withDemoDroid(t *testing.T) (k keptHome, droid string) {
	t.Helper()
	k = byHand(t)
	self, err := os.Executable()
	require.NoError(t, err)
	droid = filepath.Join(k.dir, "droid")
	require.NoError(t, os.WriteFile(droid, fmt.Appendf(nil, "#!/bin/sh\nexec %s %s\n", self, demoCommand), 0o700))
	return k, droid
}

// socket returns the path of the default socket.
func (k keptHome) socket() string {
	i := slices.IndexFunc(k.env, func(v string) bool { return strings.HasPrefix(v, "XDG_RUNTIME_DIR=") })
	return filepath.Join(strings.TrimPrefix(k.env[i], "XDG_RUNTIME_DIR="), "droid-acp", "serve.sock")
}

// A new server takes the place of one that drains, at the same address, while a turn goes on in the old one. Who connects again reaches that
// turn, and answers its question; the old server ends after it, and the session opens in the new one.
func TestNewServerBesideADrainingOne(t *testing.T) {
	t.Parallel()
	k, droid := withDemoDroid(t)
	tokens, token := filepath.Join(k.dir, "tokens"), strings.Repeat("7", 40)
	require.NoError(t, os.WriteFile(tokens, []byte("anna full "+token+"\n"), 0o600))
	first := k.serve("--droid", droid, "--listen", "127.0.0.1:0", "--token-file", tokens)
	address := first.address(t)
	args := []string{"--droid", droid, "--listen", address, "--token-file", tokens}
	old := dialServer(t, address, token)
	session := old.newSession(k.dir)
	old.send(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"Add a greeting"}]}}`, session)
	isQuestion := func(m acptest.Message) bool { return m.Method == "session/request_permission" }
	old.await("a question", isQuestion)

	second := k.run(append([]string{"serve"}, args...)...)
	require.Equal(t, exitFailed, second.code)
	require.Contains(t, second.stderr, "another server of yours runs already")
	stopped := make(chan result, 1)
	go func() { stopped <- k.run("stop", "--when-idle") }()
	require.Eventually(t, func() bool { return k.status().Draining }, patience, 10*time.Millisecond)
	broken := filepath.Join(k.dir, "broken")
	require.NoError(t, os.WriteFile(broken, []byte("short"), 0o600))
	require.Contains(t, k.run("serve", "--listen", address, "--token-file", broken).stderr, "has no token")
	require.True(t, k.status().Draining, "a server that cannot start takes no place")
	next := k.serve(args...)
	require.Equal(t, address, next.address(t))
	status := k.status()
	require.Equal(t, next.cmd.Process.Pid, status.Process)
	require.False(t, status.Draining)

	again := dialServer(t, address, token)
	require.NotEqual(t, session, again.newSession(k.dir))
	again.send(`{"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, session, k.dir)
	require.NotContains(t, again.response(4).Raw, `"error"`)
	asked := again.await("the question", isQuestion)
	require.Len(t, k.status().Sessions, 2)
	at := []string{"--socket", keep.AsidePath(k.socket())}
	require.Contains(t, k.run("ps").stdout, "A server before this one ends when nothing works in it")
	require.Contains(t, k.run(append([]string{"ps"}, at...)...).stdout, "  "+serve.Asking+" ")
	require.Empty(t, stopped)
	again.send("%s", acptest.Selected(asked.ID, acptest.AskedFor[struct{}](t, asked).Option("allow_once")))
	old.response(3)
	_, err := old.conn.Read(t.Context())
	for err == nil {
		_, err = old.conn.Read(t.Context())
	}
	require.ErrorContains(t, err, serve.TakenOver)
	for first.stderr.Scan() {
	}
	require.NoError(t, first.cmd.Wait())
	require.Equal(t, result{code: exitOK}, <-stopped)
	for err = error(nil); err == nil; {
		_, err = again.conn.Read(t.Context())
	}
	require.ErrorContains(t, err, serve.TakenOver)

	last := dialServer(t, address, token)
	last.send(`{"jsonrpc":"2.0","id":5,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, session, k.dir)
	last.response(5)
	require.NoError(t, last.conn.Close())
	next.stop(k)
	entries, err := os.ReadDir(filepath.Join(k.dir, ".local/state/droid-acp/journals"))
	require.NoError(t, err)
	require.Empty(t, entries)
	require.NoFileExists(t, keep.AsidePath(k.socket()))
}

// A server measures the memory of its agents, and opens no session beyond --max-memory.
func TestMaxMemory(t *testing.T) {
	t.Parallel()
	k, droid := withDemoDroid(t)
	tokens, token := filepath.Join(k.dir, "tokens"), strings.Repeat("7", 40)
	require.NoError(t, os.WriteFile(tokens, []byte("anna full "+token+"\n"), 0o600))
	s := k.serve("--droid", droid, "--max-memory", "1", "--listen", "127.0.0.1:0", "--token-file", tokens)
	c := dialServer(t, s.address(t), token)
	c.newSession(k.dir)
	c.send(`{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, k.dir)
	refused := c.response(3).Raw
	require.Contains(t, refused, `"kind":"server_full"`)
	used := regexp.MustCompile(`the agents use (\d+) MiB of memory, and the server opens no session from 1 MiB on`).FindStringSubmatch(refused)
	require.NotNil(t, used, refused)
	n, err := strconv.Atoi(used[1])
	require.NoError(t, err)
	require.Greater(t, n, 3, "an agent takes more")
	require.NoError(t, c.conn.Close())
	s.stop(k)
}
