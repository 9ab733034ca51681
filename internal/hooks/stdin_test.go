package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
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
		"the first of both": {`{"tool_name":"A","toolName":"B","toolInput":1,"tool_input":2}`, Request{Tool: "A", Input: json.RawMessage("1")}},
		"others are skipped": {`{"tool_response":{"tool_name":"no","x":["\\\"]}",{}]},"a":-1.5e3,"b":true,"c":"\\","` + strings.Repeat("k", 1000) + `":{},"tool_name":"T"}`,
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
		"", " ", "null", "[]", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,"a":1}`, `{"a" 1}`, `{"a":}`, `{"a":"x}`, `{"a":]}`,
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

func TestHugeResponseTakesNoMemory(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	in := io.MultiReader(strings.NewReader(`{"hook_event_name":"E","tool_response":{"text":"`), repeat(long, 64), strings.NewReader(`","lines":[1`),
		repeat(strings.Repeat(",1", 1<<18), 8), strings.NewReader(`]},"tool_name":"T"}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := readStdin(in)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Equal(t, Request{Event: "E", Tool: "T"}, r)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

func TestHugeInputIsRefused(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	in := io.MultiReader(strings.NewReader(`{"tool_input":"`), repeat(long, 64))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readStdin(in)
	runtime.ReadMemStats(&after)
	require.Error(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8*maxMessage))
}

// FuzzStdin: of JSON that encoding/json takes, the parts are what encoding/json finds;
// what comes of other input is at least JSON.
func FuzzStdin(f *testing.F) {
	f.Add([]byte(`{"session_id":"s","hook_event_name":"E","tool_name":"T","tool_input":{"a":[1,"\"}"]},"tool_response":null}`))
	f.Add([]byte(`{"toolInput":"a\\" , "tool_input":2,"x":[[{}]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readStdin(bytes.NewReader(data))
		if err == nil && got.Input != nil {
			require.True(t, json.Valid(got.Input))
		}
		want, wantErr := readAll(data)
		if !json.Valid(data) {
			return
		}
		require.Equal(t, wantErr == nil, err == nil, "%v, %v", wantErr, err)
		if err == nil {
			require.Equal(t, want, got)
		}
	})
}

// readAll is readStdin by encoding/json alone.
func readAll(data []byte) (r Request, err error) {
	in := json.NewDecoder(bytes.NewReader(data))
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return Request{}, errStdin
	}
	seen := make(map[string]bool)
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return Request{}, err
		}
		var value json.RawMessage
		if err = in.Decode(&value); err != nil {
			return Request{}, err
		}
		name, to := r.field(fmt.Sprint(key))
		if to == nil || seen[name] {
			continue
		}
		seen[name] = true
		if err = json.Unmarshal(value, to); err != nil {
			return Request{}, err
		}
	}
	return r, nil
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
