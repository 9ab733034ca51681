package via

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/text/paths"
)

// delta is a text chunk as sent by droid-acp.
const delta = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"fa4ed801-0000-4000-8000-000000000001","update":{"sessionUpdate":"agent_message_chunk","messageId":"0b4d9a9e-2b39-4b6e-9a55-5bb8f24dd4c5","content":{"type":"text","text":"word 17 "}}}}` + "\n"

// FuzzLines sends a line in either direction: what is passed on has no path of the sender's side in a field for the receiver, and differs
// in typed fields only.
func FuzzLines(f *testing.F) {
	for _, line := range []string{
		`{"id":1,"method":"session/new","params":{"cwd":"/l/a","mcpServers":[{"command":"/l/x"}],"additionalDirectories":["/l","/r"]}}`,
		`{"method":"session/update","params":{"update":{"content":[{"path":"/r/\u0061"}],"locations":[{"path":"/r"},{"path":"/l"}],"title":"/r"}}}`,
		`{"id":1,"method":"fs/read_text_file","params":{"path":"/r","path":"/r/../x","p\u0061th":"/l","Path":7}}`,
		`{"id":1,"method":"session/prompt","params":{"prompt":[{"uri":"file:///l/%2e"},{"resource":{"uri":"file:///l"}}]},"id":2}`, `[]`, `{"id":null,"result":{}}`, `{"METHOD":"fs/read_text_file","params":{"path":"/l"}}`,
	} {
		f.Add([]byte(line), false)
		f.Add([]byte(line), true)
	}
	maps, err := ReadMaps([]string{"/l=/r"}, "")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, line []byte, fromFar bool) {
		if bytes.ContainsAny(line, "\n") {
			return
		}
		near, far := new(bytes.Buffer), new(bytes.Buffer)
		r := New(Options{Command: []string{"x"}, Maps: maps, Out: near, Stderr: new(bytes.Buffer), FarTerminals: true, Log: zap.NewNop()})
		r.far = jsonrpc.NewOutbox(far, relay.Batch)
		hear, passed, from := r.fromNear, far, "/l"
		if fromFar {
			hear, passed, from = r.fromFar, near, "/r"
		}
		if to := hear(bytes.Clone(line)); to != nil {
			passed.Write(to)
		}
		for _, out := range []*jsonrpc.Outbox{r.near.Out, r.far} {
			out.Close()
			out.Run()
		}
		got := bytes.TrimSuffix(passed.Bytes(), []byte("\n"))
		if len(got) == 0 {
			return
		}
		var m jsonrpc.Head
		if json.Valid(line) {
			m, _ = jsonrpc.ReadHead(line)
		}
		if m.Params == 0 {
			require.Equal(t, string(line), string(got))
			return
		}
		const mark = `"` + "\xff" + `"`
		mask := func(line []byte) string {
			m, _ := jsonrpc.ReadHead(line)
			return string(protocol.PathFields(m.Method).Rewrite(line, m.Params, func(_, kind string, value []byte) []byte {
				var path string
				if json.Unmarshal(value, &path) != nil {
					return nil
				}
				if kind == paths.File && m.IsRequest() && m.Method != askingPermission && &line[0] == &got[0] {
					require.False(t, path == from || strings.HasPrefix(path, from+"/"), "%s", got)
				}
				return []byte(mark)
			}))
		}
		require.Equal(t, mask(line), mask(got))
	})
}

// FuzzLinesBefore sends lines of the far side before another one, which must be passed on as if it were the first.
func FuzzLinesBefore(f *testing.F) {
	for _, last := range []string{
		strings.Replace(delta[:len(delta)-1], "word 17", `a \" quote`, 1),
		strings.Replace(delta[:len(delta)-1], "word 17", `x"},"locations":[{"path":"/r/a"}],"y":{"z":"`, 1),
		`{"method":"session/update","params":{"update":{"content":{"text":"x","uri":"file:///r/a"}}}}`,
		`{"method":"session/update","params":{"update":{"content":{"text":7}}}}`,
	} {
		f.Add([]byte(delta[:len(delta)-1]+"\n"+last), []byte(last))
	}
	maps, err := ReadMaps([]string{"/l=/r"}, "")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, before, last []byte) {
		if bytes.ContainsAny(last, "\n") {
			return
		}
		passed := func(lines ...[]byte) string {
			r := New(Options{Command: []string{"x"}, Maps: maps, Out: io.Discard, Stderr: io.Discard, Log: zap.NewNop()})
			r.far = jsonrpc.NewOutbox(io.Discard, relay.Batch)
			for _, line := range lines {
				r.fromFar(bytes.Clone(line))
			}
			return string(r.fromFar(bytes.Clone(last)))
		}
		require.Equal(t, passed(), passed(bytes.Split(before, []byte("\n"))...))
	})
}

// Of alternating texts, such as those of several sessions, a line is decoded only if its message is new.
func TestTextsInTurn(t *testing.T) {
	r := New(Options{Command: []string{"x"}, Maps: mapsOf(t, "/l=/r"), Out: io.Discard, Log: zap.NewNop()})
	var lines [][]byte
	for _, message := range []string{"0b4d", "1b4d", "2b4d", "3b4d"} {
		lines = append(lines, []byte(strings.Replace(delta[:len(delta)-1], "0b4d", message, 1)))
	}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		for _, line := range lines {
			require.Equal(t, &line[0], &r.fromFar(line)[0])
		}
	}))
}
