package jsonrpc

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// readThrough reads input to its end and returns the messages in it, and the answers to invalid ones.
func readThrough(t *testing.T, input io.Reader) (passed []string, answers []string) {
	t.Helper()
	c := New(input, io.Discard, nil, Options{}, zap.NewNop())
	defer c.Close(0)
	c.read()
	for _, it := range c.state.waiting {
		switch {
		case it.rejection != nil:
			answers = append(answers, string(bytes.TrimSpace(EncodeError(it.ID, it.rejection))))
		case it.call != nil:
			var params any
			if it.call.Params != nil {
				params = it.call.Params
			}
			line, err := EncodeCall(it.call.Response.ID(), it.call.Method, params)
			require.NoError(t, err)
			passed = append(passed, string(bytes.TrimSpace(line)))
		case it.Error != nil:
			passed = append(passed, string(bytes.TrimSpace(EncodeError(it.ID, it.Error))))
		default:
			line, err := EncodeResult(it.ID, it.Result)
			require.NoError(t, err)
			passed = append(passed, string(bytes.TrimSpace(line)))
		}
		if it.call != nil && it.call.Response != nil {
			it.call.Response.cancel()
		}
	}
	return passed, answers
}

func TestRefusedLines(t *testing.T) {
	const (
		notJSON   = "the line is not valid JSON; each message is one line of JSON"
		noMessage = "the line is not a JSON-RPC message"
		batch     = "ACP has no batches; send each message on a line of its own"
		version   = `"jsonrpc" must be "2.0"`
		id        = `"id" must be a string in UTF-8 or a number`
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

func TestValidMessages(t *testing.T) {
	lines := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","id":"x","method":"session/new","params":{}}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`,
	}
	passed, answers := readThrough(t, strings.NewReader("\n"+strings.Join(lines, "\r\n\n")))
	require.Equal(t, lines, passed)
	require.Empty(t, answers)
}

// TestWhiteSpaceAroundAMessage checks that white space is ignored: a line of nothing else is not answered.
func TestWhiteSpaceAroundAMessage(t *testing.T) {
	for _, space := range []string{" ", "\t", "\r", " \t \r\r \t"} {
		line := space + `{"jsonrpc":"2.0","method":"m"}` + space
		passed, answers := readThrough(t, strings.NewReader(space+"\n"+line+"\n"+space))
		require.Equal(t, []string{strings.Trim(line, whiteSpace)}, passed)
		require.Empty(t, answers)
	}
	passed, answers := readThrough(t, strings.NewReader(strings.Repeat(" ", 11<<20)+"\n"))
	require.Empty(t, passed)
	require.Empty(t, answers, "nor is a long one")
}

func TestTooLongLineIsAnsweredAndPassedOver(t *testing.T) {
	long := `{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"x":"` + strings.Repeat("a", 20<<20) + `"}}`
	good := `{"jsonrpc":"2.0","id":6,"method":"initialize"}`
	passed, answers := readThrough(t, strings.NewReader(long+"\n"+good+"\n"))
	require.Equal(t, []string{good}, passed)
	const text = "the message is longer than 10 MiB; send large files as resource links instead of embedding them"
	require.Equal(t, []string{`{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"Invalid request: ` + text + `","data":{"details":"` + text + `"}}}`}, answers)
}

func TestLongestLinePasses(t *testing.T) {
	head, tail := `{"jsonrpc":"2.0","id":5,"method":"m","params":{"x":"`, `"}}`
	line := head + strings.Repeat("a", maxLine-len(head)-len(tail)) + tail
	passed, answers := readThrough(t, strings.NewReader(line+"\n"))
	require.Empty(t, answers)
	require.Equal(t, []string{line}, passed)
}

// TestNoResponseWithoutMethod checks that anything but a request is not answered, not even with an error. Two peers that answered such
// answers would never stop.
func TestNoResponseWithoutMethod(t *testing.T) {
	for _, line := range []string{
		`{}`,
		`{"jsonrpc":"2.0","params":{}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Invalid params"}}`,
		`{"jsonrpc":"2.0","id":{},"result":{}}`,
		`{"jsonrpc":"1.0","error":{"code":-32602,"message":"Invalid params"}}`,
		`[{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Invalid params"}},{}]`,
		`{"id":null,"result":"` + strings.Repeat("a", 11<<20) + `"}`,
	} {
		passed, answers := readThrough(t, strings.NewReader(line+"\n"))
		require.Empty(t, passed)
		require.Empty(t, answers, "%.80s", line)
	}
}

// FuzzLines checks that each line is a message, or answered with an error, or one that
// must not be answered; and that reading never stops before the end of the input.
func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n[]\nnull\n{}"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1e999,"method":""}` + "\r\n\x00\n"))
	f.Add([]byte(`{"jsonrpc":2,"id":7,"result":{}}` + "\n" + `[{"id":1,"method":5},{"id":2}]` + "\n\v\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}` + "\n" + `{"id":null,"error":{}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","mEthod":"$/cancel_request","params":{"requestId":1}}`)) // names have no case
	f.Fuzz(func(t *testing.T, input []byte) {
		least, most := 0, 0
		for _, line := range bytes.Split(input, []byte("\n")) {
			line = bytes.Trim(line, whiteSpace)
			var batch, members = []json.RawMessage{}, map[string]json.RawMessage{}
			switch {
			case len(line) == 0:
			case json.Unmarshal(line, &batch) == nil && len(batch) > 0:
				most += len(batch)
			case json.Unmarshal(line, &members) == nil && members != nil && !hasMethod(members):
				most++ // a response, or one that is passed over
			default:
				most++
				if !bytes.Contains(line, []byte("ancel")) { // a cancelled request waits for nothing
					least++
				}
			}
		}
		passed, answers := readThrough(t, bytes.NewReader(input))
		require.GreaterOrEqual(t, len(passed)+len(answers), least)
		require.LessOrEqual(t, len(passed)+len(answers), most)
		for _, line := range passed {
			var fr frame
			require.Nil(t, fr.decode([]byte(line)), line)
		}
		for _, line := range answers {
			require.True(t, json.Valid([]byte(line)))
			again, back := readThrough(t, strings.NewReader(line))
			require.Empty(t, back, "an answer is not answered")
			require.LessOrEqual(t, len(again), 1)
		}
	})
}

func hasMethod(members map[string]json.RawMessage) bool {
	for name := range members {
		if strings.EqualFold(name, "method") {
			return true
		}
	}
	return false
}
