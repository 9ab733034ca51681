//go:build e2e && linux

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// png is a one-pixel image with a text chunk that makes it size bytes long.
func png(t *testing.T, size int) []byte {
	t.Helper()
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	image, err := base64.StdEncoding.DecodeString(pixel)
	require.NoError(t, err)
	chunk := append([]byte("tEXtComment\x00"), bytes.Repeat([]byte("x"), max(0, size-len(image)))...)
	var padded bytes.Buffer
	padded.Write(image[:33]) // signature and IHDR
	require.NoError(t, binary.Write(&padded, binary.BigEndian, uint32(len(chunk)-4)))
	padded.Write(chunk)
	require.NoError(t, binary.Write(&padded, binary.BigEndian, crc32.ChecksumIEEE(chunk)))
	padded.Write(image[33:])
	return padded.Bytes()
}

func imageBlock(mimeType string, data []byte) map[string]any {
	return map[string]any{"type": "image", "mimeType": mimeType, "data": base64.StdEncoding.EncodeToString(data)}
}

// send begins a turn with other content than text after the word.
func (s session) send(word string, blocks ...any) turn {
	s.t.Helper()
	from := s.seen()
	id := s.request("session/prompt", map[string]any{"sessionId": s.id,
		"prompt": append([]any{map[string]any{"type": "text", "text": word}}, blocks...)})
	return turn{s, id, from}
}

func TestContent(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		for _, word := range []string{"large", "mislabelled", "link"} {
			model.On(word, modelserver.Step{Text: "Seen."})
		}
		s := startAgent(t, h).open(h)

		end := s.send("large", imageBlock("image/png", png(t, 3<<20))).end(turnLimit)
		require.Nil(t, end.Err)
		require.Contains(t, toldModel(model, "large"), "image_url")

		end = s.send("mislabelled", imageBlock("image/jpeg", png(t, 100))).end(turnLimit)
		require.Nil(t, end.Err)
		require.Contains(t, toldModel(model, "mislabelled"), "image_url")
		end = s.send("no image", imageBlock("image/png", []byte("hello, I am text"))).end(turnLimit)
		require.NotNil(t, end.Err)
		require.Equal(t, codeParams, end.Err.Code)
		require.Contains(t, end.Err.Message, "no png, jpeg, gif or webp")

		end = s.send("15 MiB", map[string]any{"type": "resource", "resource": map[string]any{
			"uri": "file:///big.txt", "text": strings.Repeat("x", 15<<20)}}).end(turnLimit)
		require.NotNil(t, end.Err)
		t.Logf("15 MiB: %d %s", end.Err.Code, end.Err.Message)
		require.Contains(t, end.Err.Message, "MiB")
		end = s.send("9 MiB", map[string]any{"type": "resource", "resource": map[string]any{
			"uri": "file:///big.txt", "text": strings.Repeat("x", 9<<20)}}).end(turnLimit)
		require.NotNil(t, end.Err)
		require.Equal(t, codeParams, end.Err.Code)
		require.Contains(t, end.Err.Message, "at most 8 MiB")

		require.NoError(t, os.WriteFile(filepath.Join(h.work, "here.txt"), nil, 0o644))
		end = s.send("link",
			map[string]any{"type": "resource_link", "name": "gone", "uri": "file://" + h.work + "/gone.txt"},
			map[string]any{"type": "resource_link", "name": "here", "uri": "file://" + h.work + "/here.txt#L3:5"}).end(turnLimit)
		require.Nil(t, end.Err)
		require.Contains(t, toldModel(model, "link"), "/gone.txt (there is no such file)")
		require.Contains(t, toldModel(model, "link"), "/here.txt (L3:5)")
	})
}

// A prompt with attachments comes back from droid's history as one text and its
// images: what is mentioned in the text has no word of its own.
func TestLoadedPromptIsAsItWasSent(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("look", modelserver.Step{Text: "Seen."})
		require.NoError(t, os.WriteFile(filepath.Join(h.work, "here.txt"), []byte("here\n"), 0o644))
		resource := func(uri, mimeType, key, body string) map[string]any {
			return map[string]any{"type": "resource", "resource": map[string]any{"uri": uri, "mimeType": mimeType, key: body}}
		}
		s := startAgent(t, h).open(h)
		end := s.send("look at @here.txt,",
			resource("file://"+h.work+"/here.txt", "text/plain", "text", "here\n"),
			map[string]any{"type": "resource_link", "name": "gone", "uri": "file://" + h.work + "/gone.txt"},
			map[string]any{"type": "text", "text": "and"},
			resource("file:///elsewhere/part.go", "text/plain", "text", "package part\n"),
			resource("file:///elsewhere/some.pdf", "application/pdf", "blob", base64.StdEncoding.EncodeToString([]byte("%PDF-1.4\ntrailer<<>>\n"))),
			imageBlock("image/png", png(t, 100)),
		).end(turnLimit)
		require.Nil(t, end.Err)
		from := s.seen()
		s.mustCall("session/load", map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{}}, nil)
		var said []string
		images := 0
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, l := range s.lines[from:] {
			u, ok := asUpdate(l)
			switch {
			case !ok || u.SessionUpdate != "user_message_chunk":
			case strings.Contains(u.raw, `"type":"image"`):
				images++
			default:
				said = append(said, u.text())
			}
		}
		require.Equal(t, []string{"look at @here.txt, @" + h.work + "/gone.txt and @/elsewhere/part.go @/elsewhere/some.pdf "}, said)
		require.Equal(t, 1, images)
	})
}

// A model that cannot see gets no image; the user is told.
func TestImageForABlindModel(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		path := filepath.Join(h.dir, ".factory", "settings.json")
		settings, err := os.ReadFile(path)
		require.NoError(t, err)
		settings = bytes.Replace(settings, []byte(`"noImageSupport": false`), []byte(`"noImageSupport": true`), 1)
		require.NoError(t, os.WriteFile(path, settings, 0o600))
		model.On("text", modelserver.Step{Text: "Read."})
		s := startAgent(t, h).open(h)
		end := s.send("look", imageBlock("image/png", png(t, 100))).end(turnLimit)
		require.NotNil(t, end.Err)
		require.Equal(t, codeParams, end.Err.Code)
		require.Contains(t, end.Err.Message, "cannot see images")
		require.Equal(t, "Read.", s.prompt("text").end(turnLimit).text())
	})
}

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
