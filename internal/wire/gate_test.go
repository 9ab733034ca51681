package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// roomy is an outbox with room for all answers.
func roomy() <-chan struct{} { return nil }

// readThrough hands input to a gate, releases after every line that has a
// handler, and returns what passed and what the gate answered.
func readThrough(t *testing.T, input io.Reader) (passed []string, answers []string) {
	t.Helper()
	var out bytes.Buffer
	g := newGate(input, &out, roomy, newPending(), zap.NewNop())
	buf := make([]byte, 64<<10)
	for {
		n, err := g.Read(buf)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		line := string(buf[:n])
		for !strings.HasSuffix(line, "\n") {
			n, err := g.Read(buf)
			require.NoError(t, err)
			line += string(buf[:n])
		}
		passed = append(passed, strings.TrimSuffix(line, "\n"))
		if g.waiting {
			g.release()
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if line != "" {
			answers = append(answers, line)
		}
	}
	return passed, answers
}

func TestGateRefusesWhatTheConnectionWouldDrop(t *testing.T) {
	const (
		notJSON   = "the line is not valid JSON; each message is one line of JSON"
		noMessage = "the line is not a JSON-RPC message"
		batch     = "ACP has no batches; send each message on a line of its own"
		version   = `"jsonrpc" must be "2.0"`
		id        = `"id" must be a string in UTF-8 or a number`
		neither   = `a message needs a "method" or an "id"`
		noOutcome = `a request needs a "method", a response a "result" or an "error"`
	)
	for _, tc := range []struct {
		name, line string
		code       int
		id         string
		details    string
	}{
		{"not JSON", `{"jsonrpc":"2.0",`, -32700, "null", notJSON},
		{"two values", `{} {}`, -32700, "null", notJSON},
		{"vertical tab", "\v{}", -32700, "null", notJSON},
		{"scalar", `42`, -32600, "null", noMessage},
		{"null", `null`, -32600, "null", noMessage},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"initialize"}]`, -32600, "1", batch},
		{"no version", `{"id":7,"method":"initialize"}`, -32600, "7", version},
		{"wrong version", `{"jsonrpc":"1.0","id":"a","method":"initialize"}`, -32600, `"a"`, version},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"session/prompt"}`, -32600, "null", id},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"session/prompt"}`, -32600, "null", id},
		{"method is a number", `{"jsonrpc":"2.0","id":1,"method":5}`, -32600, "1", noMessage},
		{"neither method nor id", `{"jsonrpc":"2.0","params":{}}`, -32600, "null", neither},
		{"neither method nor result", `{"jsonrpc":"2.0","id":3}`, -32600, "3", noOutcome},
	} {
		t.Run(tc.name, func(t *testing.T) {
			good := `{"jsonrpc":"2.0","id":9,"method":"initialize"}`
			passed, answers := readThrough(t, strings.NewReader(tc.line+"\n"+good+"\n"))
			require.Equal(t, []string{good}, passed, "what follows still passes")
			require.Len(t, answers, 1)
			var answer struct {
				ID    json.RawMessage
				Error struct {
					Code    int
					Message string
					Data    map[string]string
				}
			}
			require.NoError(t, json.Unmarshal([]byte(answers[0]), &answer))
			require.Equal(t, tc.code, answer.Error.Code)
			require.Equal(t, tc.id, string(answer.ID))
			require.Equal(t, map[int]string{-32700: "Parse error", -32600: "Invalid request"}[tc.code], answer.Error.Message)
			require.Equal(t, map[string]string{"details": tc.details}, answer.Error.Data)
		})
	}
}

func TestGatePassesMessages(t *testing.T) {
	lines := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","id":"x","method":"session/new","params":{}}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{}}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`,
	}
	passed, answers := readThrough(t, strings.NewReader("\n"+strings.Join(lines, "\r\n\n")))
	require.Equal(t, lines, passed)
	require.Empty(t, answers)
}

// TestWhiteSpaceAroundAMessage is nobody's: a line of it alone is not answered.
func TestWhiteSpaceAroundAMessage(t *testing.T) {
	for _, space := range []string{" ", "\t", "\r", " \t \r\r \t"} {
		line := space + `{"jsonrpc":"2.0","method":"m"}` + space
		passed, answers := readThrough(t, strings.NewReader(space+"\n"+line+"\n"+space))
		require.Equal(t, []string{strings.TrimRight(line, "\r")}, passed)
		require.Empty(t, answers)
	}
	passed, answers := readThrough(t, strings.NewReader(strings.Repeat(" ", 11<<20)+"\n"))
	require.Empty(t, passed)
	require.Empty(t, answers, "nor is a long one")
}

func TestGateAnswersTooLongLineAndGoesOn(t *testing.T) {
	long := `{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"x":"` + strings.Repeat("a", 20<<20) + `"}}`
	good := `{"jsonrpc":"2.0","id":6,"method":"initialize"}`
	passed, answers := readThrough(t, strings.NewReader(long+"\n"+good+"\n"))
	require.Equal(t, []string{good}, passed)
	const text = "the message is longer than 10 MiB; send large files as resource links instead of embedding them"
	require.Equal(t, []string{`{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"Invalid request: ` + text + `","data":{"details":"` + text + `"}}}`}, answers)
}

func TestGateLongestLinePasses(t *testing.T) {
	head, tail := `{"jsonrpc":"2.0","id":5,"method":"m","params":{"x":"`, `"}}`
	line := head + strings.Repeat("a", maxLine-len(head)-len(tail)) + tail
	passed, answers := readThrough(t, strings.NewReader(line+"\n"))
	require.Empty(t, answers)
	require.Equal(t, []string{line}, passed)
}

// FuzzGate checks that each line is either passed on as a message that the
// SDK's connection understands, answered with one JSON-RPC error, or blank; and
// that the gate never stops before the end of the input.
func FuzzGate(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n[]\nnull\n{}"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1e999,"method":""}` + "\r\n\x00\n"))
	f.Add([]byte(`{"jsonrpc":2,"id":7,"result":{}}` + "\n" + `[{"id":1,"method":5},{"id":2}]` + "\n\v\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		passed, answers := readThrough(t, bytes.NewReader(input))
		lines, batches := 0, false
		for _, line := range bytes.Split(input, []byte("\n")) {
			if len(bytes.Trim(line, whiteSpace)) > 0 {
				lines++
				batches = batches || bytes.Trim(line, whiteSpace)[0] == '['
			}
		}
		if batches { // each request in one is answered
			require.LessOrEqual(t, lines, len(passed)+len(answers))
		} else {
			require.Equal(t, lines, len(passed)+len(answers), fmt.Sprintf("passed %q, answered %q", passed, answers))
		}
		for _, line := range passed {
			var fr frame
			require.NoError(t, json.Unmarshal([]byte(line), &fr))
			require.Nil(t, fr.check())
		}
		for _, line := range answers {
			require.True(t, json.Valid([]byte(line)))
		}
	})
}
