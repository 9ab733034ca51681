//go:build e2e && linux

package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// JSON-RPC error codes of the agent.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
	codeSession  = -32002
	codeAuth     = -32000
)

func promptParams(id string) map[string]any {
	return map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": "hello"}}}
}

func TestBadInput(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("still", modelserver.Step{Text: "Still here."})
		c := startAgent(t, h)

		_, err := c.call("session/prompt", promptParams("no-such-session"))
		require.NotNil(t, err, "before initialize")
		c.initialize()

		calls := []struct {
			name, method string
			params       any
			code         int
		}{
			{"second initialize", "initialize", map[string]any{"protocolVersion": 1}, codeInvalid},
			{"unknown method", "session/teleport", map[string]any{}, codeMethod},
			{"prompt before session/new", "session/prompt", promptParams("no-such-session"), codeSession},
			{"missing params", "session/new", nil, codeParams},
			{"prompt without a session", "session/prompt", map[string]any{"prompt": []any{}}, codeParams},
			{"relative cwd", "session/new", map[string]any{"cwd": "work", "mcpServers": []any{}}, codeParams},
			{"cwd that is not there", "session/new", map[string]any{"cwd": "/no/such/directory", "mcpServers": []any{}}, codeParams},
		}
		for _, tt := range calls {
			_, err := c.call(tt.method, tt.params)
			require.NotNil(t, err, tt.name)
			require.Equal(t, tt.code, err.Code, tt.name)
		}
		lines := []struct {
			name, text string
			code       int
		}{
			{"malformed", `{"jsonrpc":"2.0","id":1,`, codeParse},
			{"no JSON", `hello`, codeParse},
			{"batch", `[{"jsonrpc":"2.0","id":901,"method":"initialize","params":{}}]`, codeInvalid},
			{"20 MiB", `{"jsonrpc":"2.0","id":902,"method":"session/prompt","params":{"x":"` + strings.Repeat("x", 20<<20) + `"}}`, codeInvalid},
		}
		for _, tt := range lines {
			require.Equal(t, tt.code, c.raw(tt.text).Code, tt.name)
		}

		var result newSession
		c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, &result)
		s := session{c, result.SessionID}
		_, err = c.call("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "no-such-mode"})
		require.NotNil(t, err)
		require.Equal(t, codeParams, err.Code)
		s.still()
	})
}

// raw writes text as one line and waits for the error that answers it, with the
// line's id or without one.
func (c *client) raw(text string) *rpcError {
	c.t.Helper()
	from := c.seen()
	_, err := io.WriteString(c.stdin, text+"\n")
	require.NoError(c.t, err)
	_, l := c.await("an error", from, turnLimit, func(l line) bool { return l.Error != nil })
	return l.Error
}

func TestInitialize(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		c := startAgent(t, h)
		var result struct {
			ProtocolVersion int `json:"protocolVersion"`
			AgentInfo       struct {
				Name string `json:"name"`
			} `json:"agentInfo"`
			AuthMethods []any `json:"authMethods"`
		}
		c.mustCall("initialize", map[string]any{"protocolVersion": 65535}, &result)
		require.Equal(t, 1, result.ProtocolVersion)
		require.Equal(t, "droid-acp", result.AgentInfo.Name)
		require.NotEmpty(t, result.AuthMethods)
	})
}

func TestWithoutDroid(t *testing.T) {
	t.Parallel()
	h := newHome(t, newDroid, "http://127.0.0.1:9/v1")
	h.droid = filepath.Join(h.dir, "no-such-droid")
	c := startAgent(t, h).initialize()
	_, err := c.call("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}})
	require.NotNil(t, err)
	require.Contains(t, err.Error(), "Install Factory's droid with `", "the error says how to install droid")
}

// What is no serving leaves stdout to people, and a usage error leaves it
// empty.
func TestFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"--no-such-flag"}, 2, "", "no-such-flag"},
		{[]string{"--log-level", "loud"}, 2, "", "log-level"},
		{[]string{"--log-file", "/no/such/directory/log"}, 2, "", "log file"},
		{[]string{"no-such-command"}, 2, "", "no-such-command"},
		{[]string{"--version"}, 0, "droid-acp", ""},
		{[]string{"--help"}, 0, "Usage", ""},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			var stdout, stderr strings.Builder
			cmd := exec.Command(programs.Agent, tt.args...)
			cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run() // the exit code is compared
			require.Equal(t, tt.code, cmd.ProcessState.ExitCode())
			if tt.stdout == "" {
				require.Empty(t, stdout.String())
			}
			require.Contains(t, stdout.String(), tt.stdout)
			require.Contains(t, stderr.String(), tt.stderr)
		})
	}
}
