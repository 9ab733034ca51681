//go:build e2e && linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// mcpEnv makes this test binary an MCP server on stdio.
const mcpEnv = "DROID_ACP_E2E_MCP"

// mcpAnswer returns the answer of a small MCP server with one tool, echo; nil for a notification.
func mcpAnswer(line []byte, greeting string) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			ProtocolVersion string `json:"protocolVersion"`
			Arguments       struct {
				Text string `json:"text"`
			} `json:"arguments"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil || m.ID == nil {
		return nil
	}
	result := any(map[string]any{})
	switch m.Method {
	case "initialize":
		result = map[string]any{"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": "echo", "version": "1"}}
	case "tools/list":
		result = map[string]any{"tools": []any{map[string]any{"name": "echo", "description": "Says a text again",
			"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}}}}}
	case "tools/call":
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": greeting + m.Params.Arguments.Text}}}
	}
	answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
	return append(answer, '\n')
}

// Greetings that change the server on stdio.
const (
	muteServer  = "mute"  // it never answers
	noisyServer = "noisy" // it writes more than its answers to stdout
	dyingServer = "dying" // it ends when its tool is called
)

func serveMCP(in io.Reader, out io.Writer) int {
	greeting := os.Getenv(mcpEnv)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		switch {
		case greeting == muteServer:
			continue
		case greeting == noisyServer:
			fmt.Fprintln(out, "Starting up! {")
		case greeting == dyingServer && strings.Contains(lines.Text(), "tools/call"):
			return 3
		}
		if _, err := out.Write(mcpAnswer(lines.Bytes(), greeting)); err != nil {
			return 1
		}
	}
	return 0
}

// serve runs an HTTP server on loopback and returns its address.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: handler}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { _ = server.Close(); serving.Wait() })
	return "http://" + listener.Addr().String()
}

// mcpHTTP is the same server over HTTP. It notes the Authorization headers.
func mcpHTTP(t *testing.T) (url string, authorized func() []string) {
	t.Helper()
	var mu sync.Mutex
	var headers []string
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		headers = append(headers, r.Header.Get("Authorization"))
		mu.Unlock()
		answerHTTP(w, r)
	}))
	return address + "/mcp", func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), headers...)
	}
}

// answerHTTP is one request of the streamable HTTP transport.
func answerHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	answer := mcpAnswer(body, "over http: ")
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

// mcpSSE is the same server over the transport of 2024: the answers come as
// server-sent events, the requests go to the address that the first one names.
func mcpSSE(t *testing.T) (url string) {
	t.Helper()
	events := make(chan string, 16)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sse", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: /messages\n\n")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case event := <-events:
				fmt.Fprintf(w, "event: message\ndata: %s\n\n", event)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("POST /messages", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if answer := mcpAnswer(body, "over sse: "); answer != nil {
			events <- strings.TrimSpace(string(answer))
		}
		w.WriteHeader(http.StatusAccepted)
	})
	return serve(t, mux) + "/sse"
}

// stdioServer returns this test binary as an MCP server.
func stdioServer(t *testing.T, name, greeting string) map[string]any {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return map[string]any{"name": name, "command": self, "args": []string{}, "env": []any{map[string]any{"name": mcpEnv, "value": greeting}}}
}

// contents returns all files in a directory, except droid's own state.
func (h home) contents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(h.dir, path)
		if err != nil {
			return err
		}
		for _, own := range []string{".factory/sessions/", ".factory/logs/", ".factory/cache/", ".factory/artifacts/", ".factory/bin/",
			".local/state/droid-acp/journals/"} { // what was said, as in droid's own sessions
			if strings.HasPrefix(rel, own) {
				return nil
			}
		}
		data, err := os.ReadFile(path)
		all[rel] = string(data)
		return err
	}))
	return all
}

// useMCP makes the model call the tool echo of each server, with its name.
func useMCP(model *modelserver.Server, prompt string, servers ...string) {
	var steps []modelserver.Step
	for _, name := range servers {
		steps = append(steps, modelserver.Step{Text: "I call. ", Tools: []modelserver.ToolCall{
			{ID: prompt + "-" + name, Name: name + "___echo", Args: map[string]any{"text": name}}}})
	}
	model.On(prompt, append(steps, modelserver.Step{Text: "Called."})...)
}

// results returns the results of a turn's tools, by ID.
func (e ending) results() map[string]string {
	results := map[string]string{}
	for _, u := range e.Updates {
		if u.Status == "completed" || u.Status == "failed" {
			results[u.ToolCallID] = u.Status + " " + itemText(u.items())
		}
	}
	return results
}

// notices returns the agent's own texts in a turn.
func (e ending) notices() string {
	var b strings.Builder
	for _, u := range e.Updates {
		if u.isNotice() {
			b.WriteString(u.text() + "\n")
		}
	}
	return b.String()
}

// unchanged checks that the existing files are unchanged, and that no other one names the editor's servers. The agent's HOME, and TMPDIR,
// is h.
func (h home) unchanged(t *testing.T, before map[string]string, secrets ...string) {
	t.Helper()
	after := h.contents(t)
	for path, text := range after {
		for _, secret := range secrets {
			require.NotContains(t, text, secret, path)
		}
	}
	for path, text := range before {
		require.Equal(t, text, after[path], path)
	}
	require.NotContains(t, after, ".factory/mcp.json")
}

// Servers of the editor work with both droids, over all transports, and leave nothing behind (quirk 24).
func TestMCPServers(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		useMCP(model, "use", "tiny", "web", "old", "my-tools", "tiny-2", "noise")
		before := h.contents(t)
		url, authorized := mcpHTTP(t)
		c := startAgent(t, h).onPermission(allowOnce)
		header := []any{map[string]any{"name": "Authorization", "value": "Bearer secret"}}
		s := c.openAs(h, map[string]any{},
			stdioServer(t, "tiny", "over stdio: "),
			map[string]any{"type": "http", "name": "web", "url": url, "headers": header},
			map[string]any{"type": "sse", "name": "old", "url": mcpSSE(t), "headers": []any{}},
			stdioServer(t, "my tools", "first line\nsecond line: "),
			stdioServer(t, "tiny", "another: "),
			stdioServer(t, "noise", noisyServer),
			map[string]any{"type": "carrier-pigeon", "name": "coo"},
			map[string]any{"name": "broken", "command": "no-such-mcp-server", "args": []string{}, "env": []any{}})
		end := s.prompt("use").end(turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, map[string]string{
			"use-tiny": "completed over stdio: tiny", "use-web": "completed over http: web", "use-old": "completed over sse: old",
			"use-my-tools": "completed first line\nsecond line: my-tools", "use-tiny-2": "completed another: tiny-2", "use-noise": "completed noisynoise",
		}, end.results())
		require.Contains(t, string(c.asked()[0].ToolCall), "tiny: echo")
		require.Contains(t, authorized(), "Bearer secret")
		told := end.notices()
		require.Contains(t, told, "The MCP server broken cannot start")
		require.Contains(t, told, "The MCP server coo is not there")
		require.Contains(t, told, "this one is tiny-2 there")
		require.Contains(t, string(model.Requests()[0].Body), "tiny___echo", "the model is told of the tools")
		c.end(h)
		h.awaitNoneLeft(t, leavingLimit, func(process) bool { return true })
		h.unchanged(t, before, "no-such-mcp-server", "Bearer secret", "over stdio")
	})
}

// A server that starts and never answers prevents no session from opening, and delays no prompt for long; nor does one that hangs over
// HTTP. The user is informed.
func TestHangingMCPServers(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		if h.version == newDroid {
			useMCP(model, "use", "tiny")
		} else { // it does not offer the tool before
			model.On("use", modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute("x", "echo hi")}})
		}
		hanging := make(chan struct{})
		t.Cleanup(func() { close(hanging) })
		url := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hanging }))
		c := startAgent(t, h).onPermission(allowOnce)
		started := time.Now()
		s := c.openAs(h, map[string]any{}, stdioServer(t, "mute", muteServer), stdioServer(t, "tiny", "hello "),
			map[string]any{"type": "http", "name": "slow", "url": url, "headers": []any{}})
		t.Logf("the session opened in %v", time.Since(started).Round(time.Millisecond))
		require.Less(t, time.Since(started), 25*time.Second, "droid gives the server 30 s and more")
		turn := s.prompt("use")
		turn.awaitUpdate("what it waits for", func(u update) bool { return strings.Contains(u.raw, "Waiting for the MCP servers to start: ") })
		end := turn.end(2 * turnLimit) // a call of an MCP tool waits until droid gives the server up, after 30 s
		require.Nil(t, end.Err)
		require.Contains(t, end.notices(), "These MCP servers have not answered for 10s: mute")
		if strings.Contains(end.notices(), "tiny has connected now") { // a busy droid tells so only when it has given up the others
			end = s.prompt("use").end(2 * turnLimit)
		}
		require.Equal(t, []string{"completed"}, end.tools(), "all else works")
	})
}

// A server that dies in a tool call fails only that call.
func TestMCPServerDies(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		useMCP(model, "use", "dying", "tiny")
		c := startAgent(t, h).onPermission(allowOnce)
		end := c.openAs(h, map[string]any{}, stdioServer(t, "dying", dyingServer), stdioServer(t, "tiny", "hello ")).prompt("use").end(turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, []string{"failed", "completed"}, end.tools())
		require.Equal(t, "completed hello tiny", end.results()["use-tiny"])
	})
}

// The servers are available wherever a session continues: in the next agent after load and resume, after parking, after a crash of droid,
// in a fork; and a load with other servers has those.
func TestMCPServersStay(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		for _, name := range []string{"first", "loaded", "resumed", "parked", "crashed", "forked", "rewound"} {
			useMCP(model, name, "tiny")
		}
		useMCP(model, "changed", "other")
		before := h.contents(t)
		tiny, other := stdioServer(t, "tiny", "hello "), stdioServer(t, "other", "other ")
		works := func(s session, prompt, server, said string) {
			t.Helper()
			end := s.prompt(prompt).end(turnLimit)
			require.Nil(t, end.Err)
			require.Equal(t, "completed "+said, end.results()[prompt+"-"+server], "%s: %s", prompt, end.notices())
		}
		params := func(id string, servers ...any) map[string]any {
			return map[string]any{"sessionId": id, "cwd": h.work, "mcpServers": servers}
		}
		begin := func(args ...string) *client {
			c := startAgent(t, h, args...).onPermission(allowOnce)
			return c
		}
		c := begin()
		s := c.openAs(h, map[string]any{}, tiny)
		works(s, "first", "tiny", "hello tiny")
		c.end(h)

		c = begin()
		c.initialize()
		c.mustCall("session/load", params(s.id, tiny), nil)
		s = session{c, s.id}
		works(s, "loaded", "tiny", "hello tiny")
		h.killDroid(t)
		_ = s.prompt("go on").end(turnLimit) // it may be the one that finds out
		works(s, "crashed", "tiny", "hello tiny")
		c.mustCall("session/load", params(s.id, other), nil)
		works(s, "changed", "other", "other other")
		c.mustCall("session/load", params(s.id, tiny), nil)
		var forked newSession
		c.mustCall("session/fork", params(s.id, tiny), &forked)
		works(session{c, forked.SessionID}, "forked", "tiny", "hello tiny")
		require.Nil(t, s.prompt("/rewind 1").end(turnLimit).Err)
		works(s, "rewound", "tiny", "hello tiny")
		c.end(h)

		c = begin("--park-after", "1s")
		c.initialize()
		c.mustCall("session/resume", params(s.id, tiny), nil)
		s = session{c, s.id}
		works(s, "resumed", "tiny", "hello tiny")
		h.awaitNoDroid(t, 20*time.Second)
		works(s, "parked", "tiny", "hello tiny")
		c.end(h)
		h.unchanged(t, before, "hello ")
	})
}

// If the user has runtime settings, droid ≥ 0.215 gets the servers with the session; an older one ignores them, and the user sees a
// warning.
func TestMCPServersWithRuntimeSettings(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		useMCP(model, "use", "tiny")
		settings := filepath.Join(h.dir, "mine.json")
		require.NoError(t, os.WriteFile(settings, []byte("{}"), 0o600))
		h.env = append(h.env, "FACTORY_RUNTIME_SETTINGS_PATH="+settings)
		before := h.contents(t)
		c := startAgent(t, h).onPermission(allowOnce)
		end := c.openAs(h, map[string]any{}, stdioServer(t, "tiny", "hello ")).prompt("use").end(turnLimit)
		if h.version == newDroid {
			require.Equal(t, "completed hello tiny", end.results()["use-tiny"])
		} else {
			require.Contains(t, end.notices(), "ignores MCP servers that an editor passes: tiny")
		}
		c.end(h)
		h.unchanged(t, before, "hello ")
	})
}

// A droid that cannot read the settings with the servers, as behind a wrapper, gets them with the session.
func TestMCPServersWithoutSettings(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		useMCP(model, "use", "tiny")
		wrapper := filepath.Join(t.TempDir(), "droid")
		script := fmt.Sprintf("#!/bin/sh\nif [ -n \"$FACTORY_RUNTIME_SETTINGS_PATH\" ]; then FACTORY_RUNTIME_SETTINGS_PATH=/nowhere.json; fi\nexec %q \"$@\"\n", h.droid)
		require.NoError(t, os.WriteFile(wrapper, []byte(script), 0o755))
		h.droid = wrapper
		c := startAgent(t, h).onPermission(allowOnce)
		end := c.openAs(h, map[string]any{}, stdioServer(t, "tiny", "hello ")).prompt("use").end(turnLimit)
		require.Nil(t, end.Err)
		if h.version == newDroid {
			require.Equal(t, "completed hello tiny", end.results()["use-tiny"])
		} else {
			want := "ignores MCP servers that an editor passes: tiny"
			if h.version != oldestDroid { // 0.105 tells its servers before the session is open and not again, so that these may still come
				want = "(ignores MCP servers that an editor passes|have not answered for 10s): tiny"
			}
			require.Regexp(t, want, end.notices())
			require.Contains(t, end.results()["use-tiny"], "failed")
		}
	})
}
