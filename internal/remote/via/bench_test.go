package via

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
)

// delta is a piece of text as droid-acp tells it.
const delta = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"fa4ed801-0000-4000-8000-000000000001","update":{"sessionUpdate":"agent_message_chunk","messageId":"0b4d9a9e-2b39-4b6e-9a55-5bb8f24dd4c5","content":{"type":"text","text":"word 17 "}}}}` + "\n"

// BenchmarkLine is what a delta costs without its way: a word, what 64 deltas become in a flood,
// and the words of four messages in turn.
func BenchmarkLine(b *testing.B) {
	for name, text := range map[string]string{"word": "word 17 ", "2KiB": strings.Repeat("word 17 ", 256)} {
		b.Run(name, func(b *testing.B) {
			r := New(Options{Command: []string{"x"}, Maps: mapsOf(b, "/l=/r /l/x=/s"), Log: zap.NewNop()})
			line := []byte(strings.Replace(delta[:len(delta)-1], "word 17 ", text, 1))
			b.ReportAllocs()
			for b.Loop() {
				r.fromFar(line)
			}
		})
	}
	b.Run("four in turn", func(b *testing.B) {
		r := New(Options{Command: []string{"x"}, Maps: mapsOf(b, "/l=/r /l/x=/s"), Log: zap.NewNop()})
		var lines [4][]byte
		for i := range lines {
			lines[i] = fmt.Appendf(nil, "%s", strings.Replace(delta[:len(delta)-1], "0b4d", fmt.Sprintf("0b4%d", i), 1))
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			r.fromFar(lines[i%len(lines)])
		}
	})
}
