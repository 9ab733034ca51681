package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/serve"
	"droid-acp/internal/remote/transport"
	"droid-acp/internal/testing/acptest"
)

// roleServer is a server with a token for each role, whose log the test reads.
type roleServer struct {
	keptHome
	address string

	mu      sync.Mutex
	refused []map[string]any // lines of the log
	text    strings.Builder
}

// roleToken returns the token of a role.
func roleToken(role string) string { return strings.Repeat(role+"0", 8) }

func serveRoles(t *testing.T) *roleServer {
	t.Helper()
	k, droid := withDemoDroid(t)
	s := &roleServer{keptHome: k}
	file := filepath.Join(k.dir, "tokens")
	var tokens strings.Builder
	for _, role := range []string{"watch", "answer", "prompt", "full"} {
		fmt.Fprintf(&tokens, "%s %s %s\n", role, role, roleToken(role))
	}
	require.NoError(t, os.WriteFile(file, []byte(tokens.String()), 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "serve", "--log-json", "--droid", droid, "--listen", "127.0.0.1:0", "--token-file", file)
	cmd.Env = k.env
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	require.True(t, lines.Scan())
	for s.address == "" {
		if m := regexp.MustCompile(`ws://([^/]+)/`).FindStringSubmatch(lines.Text()); m != nil {
			s.address = m[1]
			break
		}
		require.True(t, lines.Scan())
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines.Scan() {
			var line map[string]any
			_ = json.Unmarshal(lines.Bytes(), &line) // an invalid line has no reason
			s.mu.Lock()
			s.text.Write(lines.Bytes())
			if text, _ := line["msg"].(string); strings.HasPrefix(text, "refused") {
				s.refused = append(s.refused, line)
			}
			s.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-read
		_ = cmd.Wait() // the signal ends it
	})
	return s
}

// awaitRefusals returns the next n refusals in the log, in order.
func (s *roleServer) awaitRefusals(n int) (refused []map[string]any) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.refused) < n {
			return false
		}
		refused, s.refused = s.refused[:n], s.refused[n:]
		return true
	}, patience, 5*time.Millisecond)
	return refused
}

// Each method, called by a client of each role over the network, is refused and logged, or is not, as the table says.
func TestRolesOverTheNetwork(t *testing.T) {
	t.Parallel()
	s := serveRoles(t)
	owner := dialServer(t, s.address, roleToken("full"))
	session := owner.newSession(s.dir)
	calls, refusals := 0, 0
	for _, role := range []string{"watch", "answer", "prompt", "full"} {
		id, at := 10, session
		if role == "full" {
			at = "none" // it could delete the session
		}
		for _, method := range slices.Sorted(maps.Keys(methodRoles)) {
			c := dialServer(t, s.address, roleToken(role))
			c.send(`{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, at, s.dir)
			c.response(2)
			c.send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"sessionId":%q,"cwd":%q,"mcpServers":[],"prompt":[],"methodId":"none"}}`, id, method, at, s.dir)
			answer := c.response(id)
			may := role == "full" || strings.Contains(methodRoles[method], role)
			require.Equal(t, !may, strings.Contains(answer.Raw, "which does not allow "+method), "%s: %s: %s", role, method, answer.Raw)
			calls++
			if !may {
				line := s.awaitRefusals(1)[0]
				require.Equal(t, [3]any{role, method, "the token of this client has the role " + role + ", which does not allow " + method}, [3]any{line["token"], line["method"], line["reason"]})
				refusals++
			}
			require.NoError(t, c.conn.Close())
		}
	}
	require.Len(t, s.status().Sessions, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.refused)
	t.Logf("%d methods, %d calls, %d refused", len(methodRoles), calls, refusals)
}

// Each way round a role, or into the server, is refused, logged, and has no effect.
func TestWaysRoundOverTheNetwork(t *testing.T) {
	t.Parallel()
	s := serveRoles(t)
	owner := dialServer(t, s.address, roleToken("full"))
	session := owner.newSession(s.dir)
	owner.send(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"Add a greeting"}]}}`, session)
	asked := owner.await("a question", func(m acptest.Message) bool { return m.Method == "session/request_permission" })
	watching := func() *farClient {
		c := dialServer(t, s.address, roleToken("watch"))
		c.send(`{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, session, s.dir)
		c.response(2)
		return c
	}
	c := watching()
	says := func(format string, args ...any) func() { return func() { c.send(format, args...) } }
	request := func(method, path, token string, status int, headers ...string) (body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.address+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		for _, h := range append(headers, "Upgrade: websocket") {
			name, value, _ := strings.Cut(h, ": ")
			r.Header.Set(name, value)
			if name == "Host" {
				r.Host = value
			}
		}
		response, err := new(http.Transport).RoundTrip(r)
		require.NoError(t, err)
		defer response.Body.Close()
		require.Equal(t, status, response.StatusCode)
		var answer struct{ Ticket string }
		_ = json.NewDecoder(response.Body).Decode(&answer) // others have none
		return answer.Ticket
	}
	const forbids = "the token of this client has the role watch, which does not allow "
	for _, row := range []struct {
		name   string
		try    func()
		reason string
	}{
		{"a batch", says(`[{"jsonrpc":"2.0","id":7,"method":"session/set_mode","params":{"sessionId":%q,"modeId":"high"}}]`, session), "Invalid request: a message is a JSON object with one method or one id; ACP has no batches"},
		{"another case", says(`{"jsonrpc":"2.0","id":7,"method":"Session/Set_Mode","params":{"sessionId":%q,"modeId":"high"}}`, session), forbids + "Session/Set_Mode"},
		{"a method to come", says(`{"jsonrpc":"2.0","id":7,"method":"_droid/run","params":{"sessionId":%q}}`, session), forbids + "_droid/run"},
		{"an answer to another's question", says("%s", acptest.Selected(asked.ID, acptest.AskedFor[struct{}](t, asked).Option("allow_once"))), "it answers what it was not asked"},
		{"a cancel of another's request", says(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}`), "it cancels a request that is not its own, or was answered"},
		{"a second connection", func() {
			second := watching()
			second.send(`{"jsonrpc":"2.0","id":7,"method":"session/set_mode","params":{"sessionId":%q,"modeId":"high"}}`, session)
			second.response(7)
		}, forbids + "session/set_mode"},
		{"a token in the address", func() { request("GET", transport.Path+"?token="+roleToken("full"), "", http.StatusUnauthorized) }, "The token is missing or wrong"},
		{"a ticket of more than the token", func() { request("POST", transport.Path+"/ticket?role=full", roleToken("watch"), http.StatusForbidden) }, "The token does not have the role that the ticket would have"},
		{"a ticket used twice", func() {
			ticket := request("POST", transport.Path+"/ticket", roleToken("full"), http.StatusOK)
			require.NoError(t, dialServer(t, s.address, ticket).conn.Close())
			request("GET", transport.Path, ticket, http.StatusUnauthorized)
		}, "The ticket was used before"},
		{"another host", func() {
			request("GET", transport.Path, roleToken("full"), http.StatusForbidden, "Host: evil.example", "X-Forwarded-Host: localhost")
		}, "This server does not go by the name that the Host header has"},
		{"a foreign page", func() {
			request("GET", transport.Path, roleToken("full"), http.StatusForbidden, "Origin: https://evil.example")
		}, "Pages of this origin may not connect"},
	} {
		row.try()
		require.Equal(t, row.reason, s.awaitRefusals(1)[0]["reason"], row.name)
	}
	status := s.status()
	require.Len(t, status.Sessions, 1)
	require.Equal(t, serve.Asking, status.Sessions[0].State, "nothing had an effect")
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotContains(t, s.text.String(), roleToken("full"))
}
