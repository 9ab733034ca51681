package quirks

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// secret is in every injected text of the fuzzer and nowhere else.
const secret = "SECRET"

// FuzzHistory reads its bytes as a history made up of pieces, and also as the
// JSON of one.
func FuzzHistory(f *testing.F) {
	f.Add([]byte{0, 1, 10, 2, 40, 81, 3, 5, 130, 7, 200, 255})
	f.Add([]byte(`[{"id":"a","role":"assistant","content":[{"type":"tool_use","id":"c"},null,{"type":"text","text":5}]}]`))
	paths, err := filepath.Glob(filepath.Join(histories, "*.txtar"))
	require.NoError(f, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data[:min(len(data), 300)])
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		var decoded []stream.Message
		if json.Unmarshal(script, &decoded) == nil {
			require.NoError(t, checkHistory(History(decoded)))
		}
		history := madeUp(script)
		events := History(history)
		require.NoError(t, checkHistory(events), "%+v", history)
		for _, ev := range events {
			if said, ok := ev.(UserText); ok {
				require.NotContains(t, said.Text, secret, "%+v", history)
			}
		}
	})
}

// madeUp makes a message of every few bytes, each of which is a block.
func madeUp(script []byte) []stream.Message {
	var all []stream.Message
	for i := 0; i < len(script); {
		head := script[i]
		size := min(int(head>>4)%5, len(script)-i-1)
		m := stream.Message{
			ID:         []string{"", "m1", "m2", fmt.Sprint("n", i), fmt.Sprint("context-", i)}[head%5],
			Role:       []string{stream.RoleUser, stream.RoleAssistant, stream.RoleTool, stream.RoleSystem}[head/3%4],
			Visibility: []string{"", "", stream.VisibilityLLMOnly, stream.VisibilityBoth}[head/7%4],
		}
		for _, b := range script[i+1 : i+1+size] {
			m.Content = append(m.Content, madeUpBlock(b))
		}
		all = append(all, m)
		i += 1 + size
	}
	return all
}

func madeUpBlock(b byte) stream.ContentBlock {
	id := fmt.Sprint("c", b%3)
	texts := []string{
		"hi", "", "what is <system-reminder> for?", "a\nb",
		"<system-reminder>\n" + secret + "\n</system-reminder>",
		"<system-reminder>" + secret + "</system-reminder>\nhi",
		"hi\n<system-reminder>\n" + secret + " </system-reminder> " + secret + "\n</system-reminder>",
		"<system-notification>\n" + secret + "\n</system-notification>",
		"<system-reminder>\n" + secret + "\n</system-reminder>\n<system-reminder>\n" + secret + "\n</system-reminder>",
		"hi <system-reminder>\n" + secret + "</system-reminder>",
	}
	switch b % 7 {
	case 0:
		return stream.ContentBlock{Type: "tool_use", ID: id, Name: "Read", Input: json.RawMessage([]string{"", "{", `{"a":1}`, "null"}[b/7%4])}
	case 1:
		return stream.ContentBlock{Type: "tool_result", ToolUseID: id, Content: json.RawMessage(`"x"`), IsError: b > 127}
	case 2:
		return stream.ContentBlock{Type: "tool_result", Raw: json.RawMessage(fmt.Sprintf(`{"toolUseId":%q,"isError":true,"content":[]}`, id))}
	case 3:
		return stream.ContentBlock{Type: []string{"image", "document", "thinking"}[b%3], Raw: json.RawMessage(`{"source":{"data":"QQ==","mediaType":"image/png"}}`)}
	}
	return stream.ContentBlock{Type: "text", Text: texts[int(b)/4%len(texts)]}
}
