package hooks

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadStdin(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Request
	}{
		"snake_case": {`{"session_id":"s","cwd":"/x","hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"a":[1,"}"]}}`,
			Request{"PreToolUse", "s", "Edit", json.RawMessage(`{"a":[1,"}"]}`)}},
		"camelCase, and as if pretty": {" {\n \"sessionId\" : \"s\" ,\n\t\"hookEventName\":\"E\",\"toolName\": \"T\",\r\n\"toolInput\":null }\n",
			Request{"E", "s", "T", json.RawMessage("null")}},
		"both": {`{"tool_name":"A","toolName":"B","toolInput":1,"tool_input":2}`, Request{Tool: "A", Input: json.RawMessage("2")}},
		"others are not looked at": {`{"tool_response":{"tool_name":"no","x":["\\\"]}",{}]},"a":-1.5e3,"b":true,"c":"\\","tool_name":"T"}`,
			Request{Tool: "T"}},
		"escaped":       {`{"tool\u005fname":"\u0054\"\ud83d\ude00"}`, Request{Tool: "T\"😀"}},
		"more follows":  {`{"tool_name":"T"}{"tool_name":"U"`, Request{Tool: "T"}},
		"nothing in it": {`{}`, Request{}},
	} {
		got, err := readStdin(iotestOneByte{strings.NewReader(c.text)})
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
}

// iotestOneByte gives one byte at a time, as a slow pipe may.
type iotestOneByte struct{ from io.Reader }

func (r iotestOneByte) Read(p []byte) (int, error) { return r.from.Read(p[:min(1, len(p))]) }

func TestReadStdinRefuses(t *testing.T) {
	for _, text := range []string{
		"", " ", "[]", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,"a":1}`, `{"a" 1}`, `{"a":}`, `{"a":"x}`, `{"a":]}`,
		`{"tool_name":1}`, `{"tool_name":{}}`, `{"tool_input":{]}}`, `{"tool_input":tru}`, `{"tool_input":"\x"}`, `{"tool_input":{"a" "b"}}`, `{'a':1}`, `{"a":1;"b":2}`,
	} {
		_, err := readStdin(strings.NewReader(text))
		require.Error(t, err, text)
	}
}

// repeat gives a text n times.
func repeat(text string, n int) io.Reader {
	all := make([]io.Reader, n)
	for i := range all {
		all[i] = strings.NewReader(text)
	}
	return io.MultiReader(all...)
}

func TestHugeInputIsRefused(t *testing.T) {
	for _, key := range []string{"tool_input", "tool_response"} {
		long := strings.Repeat("x", 1<<20)
		in := io.MultiReader(strings.NewReader(`{"`+key+`":"`), repeat(long, maxStdin/len(long)+1), strings.NewReader(`"}`))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readStdin(in)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(6*maxStdin))
	}
}

// FuzzStdin checks that the result of any input is JSON, and can be sent.
func FuzzStdin(f *testing.F) {
	f.Add([]byte(`{"session_id":"s","hook_event_name":"E","tool_name":"T","tool_input":{"a":[1,"\"}"]},"tool_response":null}`))
	f.Add([]byte(`{"toolInput":"a\\" , "tool_input":2,"x":[[{}]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readStdin(bytes.NewReader(data))
		if err != nil {
			return
		}
		if got.Input != nil {
			require.True(t, json.Valid(got.Input))
		}
		_, err = encode(got)
		require.NoError(t, err)
	})
}

// FuzzRequest: a request that the agent takes is whole, and can be sent on.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"event":"PreToolUse","session":"s","tool":"Read","input":{"file_path":"/x"}}`))
	f.Add([]byte(`{"event":"PreToolUse"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := readRequest(bytes.NewReader(data))
		if err != nil {
			require.Equal(t, Request{}, r)
			return
		}
		require.NotEmpty(t, r.Event)
		require.NotEmpty(t, r.Tool)
		sent, err := encode(r)
		require.NoError(t, err)
		again, err := readRequest(bytes.NewReader(sent))
		require.NoError(t, err)
		require.Equal(t, r.Tool, again.Tool)
	})
}
