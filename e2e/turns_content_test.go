//go:build e2e && linux

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"os"
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

// A prompt with attachments is restored from droid's history as one text and its images: for files mentioned in the text nothing is added.
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

// A model without image support gets no image; the user is informed.
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
