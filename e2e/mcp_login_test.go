//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// mcpOAuth is an MCP server over HTTP that requires a login, and its authorization server, which logs in everybody who opens the address.
func mcpOAuth(t *testing.T) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	base := func(r *http.Request) string { return "http://" + r.Host }
	answer := func(w http.ResponseWriter, status int, v map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	resource := func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, map[string]any{"resource": base(r) + "/mcp", "authorization_servers": []string{base(r)}})
	}
	mux.HandleFunc("GET /.well-known/oauth-protected-resource", resource)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", resource)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, map[string]any{
			"issuer": base(r), "authorization_endpoint": base(r) + "/authorize", "token_endpoint": base(r) + "/token",
			"registration_endpoint": base(r) + "/register", "response_types_supported": []string{"code"},
			"grant_types_supported": []string{"authorization_code"}, "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"}})
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		client := map[string]any{}
		_ = json.NewDecoder(r.Body).Decode(&client)
		client["client_id"] = "droid"
		answer(w, http.StatusCreated, client)
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+callback(q.Get("state")), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("code") != "granted" {
			answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
			return
		}
		answer(w, http.StatusOK, map[string]any{"access_token": "letmein", "token_type": "Bearer", "expires_in": 3600})
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer letmein" {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+base(r)+`/.well-known/oauth-protected-resource"`)
			answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_token"})
			return
		}
		answerHTTP(w, r)
	})
	return serve(t, mux) + "/mcp"
}

func callback(state string) string { return url.Values{"code": {"granted"}, "state": {state}}.Encode() }

// browse opens an address as a browser does, up to the page that droid shows at the end of the redirects.
func browse(t *testing.T, address string) {
	t.Helper()
	response, err := http.Get(address)
	require.NoError(t, err)
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Contains(t, string(page), "Authorization Successful")
}

// noBrowser puts a failing xdg-open into PATH, which records its argument: droid runs it by itself on /mcp login.
func (h *home) noBrowser(t *testing.T) (opened func() string) {
	t.Helper()
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\necho \"$@\" >> "+log+"\nexit 3\n"), 0o755))
	h.env = append([]string{}, h.env...)
	for i, v := range h.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			h.env[i] = "PATH=" + bin + ":" + path
		}
	}
	return func() string {
		data, _ := os.ReadFile(log)
		return string(data)
	}
}

// eachLogin is eachVersion, sequentially: droids share the ports of a login, and 0.99 has only one.
func eachLogin(t *testing.T, test func(t *testing.T, model *modelserver.Server, h home)) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		loginPort.Lock()
		t.Cleanup(loginPort.Unlock)
		test(t, model, h)
	})
}

var loginPort sync.Mutex

var (
	urls     = map[string]any{"elicitation": map[string]any{"url": map[string]any{}}}
	webLinks = regexp.MustCompile(`http://[^\s"]+`)
)

// elicitation is the params of an elicitation/create with mode "url".
type elicitation struct{ SessionID, Mode, ElicitationID, URL, Message string }

// awaitHint waits until the agent reports that a server requires a login.
func (s session) awaitHint(t *testing.T, server string) {
	t.Helper()
	s.awaitTold(t, 0, "The MCP server "+server+" needs you to log in: type `/mcp login "+server+"`.")
}

// awaitTold sends prompts until the agent has sent a text, from line number from on: text outside of a turn is sent with the next one, or a
// running one.
func (s session) awaitTold(t *testing.T, from int, text string) {
	t.Helper()
	for deadline := time.Now().Add(turnLimit); !s.agentSent(from, text); {
		require.True(t, time.Now().Before(deadline), "not told: %s", text)
		require.Nil(t, s.prompt("hello").end(turnLimit).Err)
	}
}

// agentSent reports whether the agent itself has sent a text, from line number from on.
func (c *client) agentSent(from int, text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.lines[from:], func(l line) bool {
		u, ok := asUpdate(l)
		return ok && u.isNotice() && strings.Contains(u.text(), text)
	})
}

// A server of the editor requires a login: the user is informed, logs in through the editor's dialog, and its tools work.
func TestMCPLoginInTheEditor(t *testing.T) {
	eachLogin(t, func(t *testing.T, model *modelserver.Server, h home) {
		opened := h.noBrowser(t)
		useMCP(model, "use", "safe")
		model.On("hello", modelserver.Step{Text: "Hello."})
		c := startAgent(t, h).onPermission(allowOnce)
		c.form = func(json.RawMessage) string { return `{"action":"accept"}` }
		s := c.openAs(h, urls, map[string]any{"type": "http", "name": "safe", "url": mcpOAuth(t), "headers": []any{}})
		s.awaitHint(t, "safe")
		require.Contains(t, s.prompt("/mcp login safe").end(turnLimit).text(), "Your editor asks you to log in to the MCP server safe.")
		_, asked := c.await("the address", 0, turnLimit, func(l line) bool { return l.Method == "elicitation/create" })
		var p elicitation
		require.NoError(t, json.Unmarshal(asked.Params, &p))
		require.Equal(t, elicitation{s.id, "url", p.ElicitationID, p.URL, "The MCP server safe needs you to log in."}, p)
		browse(t, p.URL)
		c.await("the end of the login", 0, turnLimit, func(l line) bool {
			return l.Method == "elicitation/complete" && strings.Contains(string(l.Params), p.ElicitationID)
		})
		s.awaitTold(t, 0, "You are logged in to the MCP server safe.")
		end := s.prompt("use").end(turnLimit)
		require.Equal(t, "completed over http: safe", end.results()["use-safe"])
		require.Equal(t, p.URL, strings.TrimSpace(opened()), "what droid opens by itself")
	})
}

// The same by a link, with a server of droid's own configuration.
func TestMCPLoginByALink(t *testing.T) {
	eachLogin(t, func(t *testing.T, model *modelserver.Server, h home) {
		useMCP(model, "use", "safe")
		model.On("hello", modelserver.Step{Text: "Hello."})
		config := fmt.Sprintf(`{"mcpServers":{"safe":{"type":"http","url":%q}}}`, mcpOAuth(t))
		require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".factory", "mcp.json"), []byte(config), 0o600))
		c := startAgent(t, h).onPermission(allowOnce)
		s := c.openAs(h, map[string]any{})
		s.awaitHint(t, "safe")
		said := s.prompt("/mcp login safe").end(turnLimit).text()
		require.Contains(t, said, "The MCP server safe needs you to log in: http://")
		browse(t, webLinks.FindString(said))
		s.awaitTold(t, 0, "You are logged in to the MCP server safe.")
		for deadline := time.Now().Add(turnLimit); !strings.Contains(s.prompt("/mcp").end(turnLimit).text(), "- safe: connected"); {
			require.True(t, time.Now().Before(deadline), "the server does not connect")
		}
		end := s.prompt("use").end(turnLimit)
		require.Equal(t, "completed over http: safe", end.results()["use-safe"])
		require.Contains(t, s.prompt("/mcp login nobody").end(turnLimit).text(), "The login to nobody did not begin")
	})
}

// A user who declines is not asked again, and can start the login later.
func TestMCPLoginDeclined(t *testing.T) {
	eachLogin(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello."})
		c := startAgent(t, h)
		c.form = func(json.RawMessage) string { return `{"action":"decline"}` }
		s := c.openAs(h, urls, map[string]any{"type": "http", "name": "safe", "url": mcpOAuth(t), "headers": []any{}})
		s.awaitHint(t, "safe")
		for range 2 {
			from := c.seen()
			s.prompt("/mcp login safe").end(turnLimit)
			c.await("the address", from, turnLimit, func(l line) bool { return l.Method == "elicitation/create" })
			s.awaitTold(t, from, "You did not log in to the MCP server safe. `/mcp login safe` starts it again.")
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, l := range c.lines {
			require.NotEqual(t, "elicitation/complete", l.Method)
		}
	})
}
