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

	"droid-acp/internal/modelserver"
)

// mcpEnv makes this test binary an MCP server on stdio.
const mcpEnv = "DROID_ACP_E2E_MCP"

// mcpAnswer is the answer of a small MCP server with one tool, echo; nil for
// what wants none.
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

func serveMCP(in io.Reader, out io.Writer) int {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if _, err := out.Write(mcpAnswer(lines.Bytes(), os.Getenv(mcpEnv))); err != nil {
			return 1
		}
	}
	return 0
}

// mcpHTTP is the same server over HTTP. It notes the Authorization headers.
func mcpHTTP(t *testing.T) (url string, authorized func() []string) {
	t.Helper()
	var mu sync.Mutex
	var headers []string
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		headers = append(headers, r.Header.Get("Authorization"))
		mu.Unlock()
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
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { _ = server.Close(); serving.Wait() })
	return "http://" + listener.Addr().String() + "/mcp", func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), headers...)
	}
}

// stdioServer is this test binary as an MCP server.
func stdioServer(t *testing.T, name, greeting string) map[string]any {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return map[string]any{"name": name, "command": self, "args": []string{}, "env": []any{map[string]any{"name": mcpEnv, "value": greeting}}}
}

// contents are all files of a directory, but droid's own state.
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
		for _, own := range []string{".factory/sessions/", ".factory/logs/", ".factory/cache/", ".factory/artifacts/", ".factory/bin/"} {
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

func useMCP(model *modelserver.Server) {
	model.On("use", modelserver.Step{Text: "I call. ", Tools: []modelserver.ToolCall{{ID: "a", Name: "tiny___echo", Args: map[string]any{"text": "one"}}}},
		modelserver.Step{Text: "And. ", Tools: []modelserver.ToolCall{{ID: "b", Name: "web___echo", Args: map[string]any{"text": "two"}}}},
		modelserver.Step{Text: "Called."})
}

// Servers of the editor reach the model, and leave nothing behind.
func TestMCPServers(t *testing.T) {
	t.Parallel()
	model := newModel(t)
	useMCP(model)
	h := newHome(t, newDroid, model.URL())
	before := h.contents(t)
	url, authorized := mcpHTTP(t)
	c := startAgent(t, h)
	c.onPermission(allowOnce)
	s := c.openAs(h, map[string]any{}, stdioServer(t, "tiny", "over stdio: "),
		map[string]any{"type": "http", "name": "web", "url": url, "headers": []any{map[string]any{"name": "Authorization", "value": "Bearer secret"}}},
		map[string]any{"name": "broken", "command": "no-such-mcp-server", "args": []string{}, "env": []any{}})
	end := s.prompt("use").end(turnLimit)
	require.Nil(t, end.Err)
	require.Equal(t, []string{"completed", "completed"}, end.tools())
	for id, said := range map[string]string{"a": "over stdio: one", "b": "over http: two"} {
		updates := end.ofTool(id)
		require.Equal(t, said, itemText(updates[len(updates)-1].items()))
	}
	for _, name := range []string{"tiny: echo", "web: echo"} {
		require.True(t, strings.Contains(string(c.asked()[0].ToolCall)+string(c.asked()[1].ToolCall), name), name)
	}
	require.Contains(t, authorized(), "Bearer secret")
	require.Contains(t, fmt.Sprint(end.Updates), "The MCP server broken cannot start")
	listed := false
	for _, r := range model.Requests() {
		listed = listed || strings.Contains(string(r.Body), "tiny___echo")
	}
	require.True(t, listed, "the model is told of the tools")
	c.end(h)
	h.awaitNone(t, leavingLimit, func(process) bool { return true })
	after := h.contents(t)
	for path, text := range after {
		if before[path] != text {
			t.Logf("droid's own: %s, %d bytes", path, len(text))
		}
		if strings.Contains(text, "no-such-mcp-server") || strings.Contains(text, "Bearer secret") {
			t.Errorf("%s holds the editor's servers", path)
		}
	}
	for path, text := range before {
		require.Equal(t, text, after[path], path)
	}
	require.NotContains(t, after, ".factory/mcp.json")
}

// A server that starts but never answers is told some time later.
func TestMCPServerWithoutTools(t *testing.T) {
	t.Parallel()
	model := newModel(t)
	model.On("first", modelserver.Step{Text: "One."})
	model.On("second", modelserver.Step{Text: "Two."})
	h := newHome(t, newDroid, model.URL())
	c := startAgent(t, h)
	s := c.openAs(h, map[string]any{}, map[string]any{"name": "mute", "command": "false", "args": []string{}, "env": []any{}},
		stdioServer(t, "tiny", "hello "))
	require.Equal(t, "One.", s.prompt("first").end(turnLimit).text())
	time.Sleep(27 * time.Second) // the agent gives servers 25 s
	end := s.prompt("second").end(turnLimit)
	require.Contains(t, fmt.Sprint(end.Updates), "offered no tools so far: mute.")
}

// Older versions ignore them, and the user is told.
func TestMCPServersOnAnOldDroid(t *testing.T) {
	t.Parallel()
	model := newModel(t)
	model.On("hello", modelserver.Step{Text: "Hello."})
	h := newHome(t, oldDroid, model.URL())
	before := h.contents(t)
	c := startAgent(t, h)
	end := c.openAs(h, map[string]any{}, stdioServer(t, "tiny", "hello ")).prompt("hello").end(turnLimit)
	require.Contains(t, fmt.Sprint(end.Updates), "ignores MCP servers that an editor passes: tiny")
	c.end(h)
	after := h.contents(t)
	for path, text := range before {
		require.Equal(t, text, after[path], path)
	}
	require.NotContains(t, after, ".factory/mcp.json")
}
