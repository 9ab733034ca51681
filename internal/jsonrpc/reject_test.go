package jsonrpc

import (
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// answerOf returns the ID and the code of the response to a line.
func answerOf(t *testing.T, answer string) (id string, code int) {
	t.Helper()
	var m struct {
		ID    json.RawMessage
		Error struct{ Code int }
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &m))
	return string(m.ID), m.Error.Code
}

// TestRefusedRequestKeepsItsID checks that a refused request is answered with its id wherever the id can be read.
func TestRefusedRequestKeepsItsID(t *testing.T) {
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	long := strings.Repeat("a", 11<<20)
	for _, tc := range []struct {
		name, line string
		code       int
		id         string
	}{
		{"method is a number", `{"jsonrpc":"2.0","method":5,"id":1}`, -32600, "1"},
		{"method is null", `{"jsonrpc":"2.0","method":null,"id":1}`, -32600, "1"},
		{"method is an object", `{"jsonrpc":"2.0","method":{"id":7},"id":"a"}`, -32600, `"a"`},
		{"version is a number", `{"jsonrpc":2.0,"id":1,"method":"initialize"}`, -32600, "1"},
		{"version is missing", `{"method":"initialize","id":1}`, -32600, "1"},
		{"deep params before the id", `{"jsonrpc":"2.0","method":"m","params":` + deep + `,"id":1}`, -32600, "1"},
		{"deep params behind the id", `{"jsonrpc":"2.0","id":1,"method":"m","params":` + deep + `}`, -32600, "1"},
		{"id after 11 MB", `{"jsonrpc":"2.0","method":"m","params":{"x":"` + long + `"},"id":1}`, -32600, "1"},
		{"id after 11 MB of levels", `{"jsonrpc":"2.0","method":"m","params":` + strings.Repeat("[", 6<<20) + strings.Repeat("]", 6<<20) + `,"id":1}`, -32600, "1"},
		{"id inside long params", `{"jsonrpc":"2.0","method":"m","params":{"id":2,"x":"` + long + `"}}`, -32600, "null"},
		{"id of two, the last", `{"jsonrpc":"1.0","id":1,"id":2,"method":"m"}`, -32600, "2"},
		{"id of two, one unusable", `{"jsonrpc":"2.0","id":1,"method":"m","id":{}}`, -32600, "1"},
		{"id that is no UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":\"a\xff\"}", -32600, "null"},
		{"id with half a character", `{"jsonrpc":"2.0","method":"m","id":"a\ud83d"}`, -32600, "null"},
		{"id of a broken line that is no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"a\xff\",\"method\":\"m", -32700, "null"},
		{"id of two, one no UTF-8", "{\"jsonrpc\":\"1.0\",\"id\":1,\"id\":\"a\xff\",\"method\":\"m\"}", -32600, "1"},
		{"id in letters as Go takes them", `{"jsonrpc":"1.0","ID":4,"method":"m"}`, -32600, "4"},
		{"id with an escaped name", `{"jsonrpc":"1.0","\u0069d":4,"method":"m"}`, -32600, "4"},
		{"raw tab in a string", "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"x\":\"a\tb\"},\"id\":1}", -32700, "1"},
		{"cut off behind the id", `{"jsonrpc":"2.0","id":12,"method":"initia`, -32700, "12"},
		{"cut off in the id", `{"jsonrpc":"2.0","method":"m","id":12`, -32700, "null"},
		{"rubbish behind the message", `{"jsonrpc":"2.0","id":12,"method":"m"};`, -32700, "12"},
		{"two messages on a line", `{"jsonrpc":"2.0","id":1,"method":"m"} {"jsonrpc":"2.0","id":2,"method":"m"}`, -32700, "null"},
		{"broken before the id", `{"jsonrpc":"2.0","method":"m","params":{"x":"say "hi","id":3,"y":""},"id":1}`, -32700, "null"},
		{"object behind a value", `{"jsonrpc":"2.0","method":"m" {},"id":1}`, -32700, "null"},
		{"comma too much", `{"jsonrpc":"2.0",,"method":"m","id":1}`, -32700, "null"},
		{"object in place of a name", `{"jsonrpc":"2.0",{"a":1}:2,"id":1}`, -32700, "null"},
		{"white space of every kind", "{\t\"jsonrpc\"\r:\r\"1.0\"\t, \r\"id\"\r:\t1\r,\"method\":\"m\"\r}", -32600, "1"},
		{"id that is no number", `{"jsonrpc":"2.0","id":01,"method":"m"}`, -32700, "null"},
		{"id in a list", `{"jsonrpc":"1.0","params":[{"id":3}],"method":"m"}`, -32600, "null"},
		{"notification", `{"jsonrpc":"1.0","method":"session/cancel"}`, -32600, "null"},
		{"value behind a value", `{"jsonrpc":"2.0","x":1 2,"id":3,"method":"m"}`, -32700, "null"},
		{"request with a result", `{"jsonrpc":"1.0","id":1,"method":"m","result":{}}`, -32600, "1"},
		{"request with an error", `{"jsonrpc":"1.0","id":1,"error":5,"method":"m"}`, -32600, "1"},
		{"byte order mark before the message", "\xEF\xBB\xBF" + `{"jsonrpc":"2.0","id":1,"method":"m"}`, -32700, "1"},
		{"byte order mark in the message", `{"jsonrpc":"2.0",` + "\xEF\xBB\xBF" + `"id":1,"method":"m"}`, -32700, "null"},
		{"byte order mark behind the message", `{"id":1}` + "\xEF\xBB\xBF" + `{"id":2}`, -32700, "1"},
		{"broken number and no method", `{"jsonrpc":"2.0","id":1,"params":01}`, -32700, "1"},
		{"comma behind a long message without a method", `{"jsonrpc":"2.0","id":1,"params":"` + long + `"},`, -32600, "1"},
		{"batch of an empty list", `[[]]`, -32600, "null"},
		{"end before the beginning", `},{{"jsonrpc":"2.0","id":1,"method":"m"}}`, -32700, "null"},
		{"long white space before the message", strings.Repeat(" ", 11<<20) + `{"method":"m","id":1}`, -32600, "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			good := `{"jsonrpc":"2.0","id":9,"method":"initialize"}`
			passed, answers := readThrough(t, strings.NewReader(tc.line+"\n"+good+"\n"))
			require.Equal(t, []string{good}, passed, "what follows still passes")
			require.Len(t, answers, 1)
			id, code := answerOf(t, answers[0])
			require.Equal(t, tc.id, id)
			require.Equal(t, tc.code, code)
		})
	}
}

// TestRefusedBatchAnswersEachRequest checks that each request of a batch is answered, although ACP has no batches, since a caller waits for
// each.
func TestRefusedBatchAnswersEachRequest(t *testing.T) {
	passed, answers := readThrough(t, strings.NewReader(
		`[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","id":"c","method":"c"},7]`+"\n"))
	require.Empty(t, passed)
	var ids []string
	for _, answer := range answers {
		id, code := answerOf(t, answer)
		require.Equal(t, -32600, code)
		ids = append(ids, id)
	}
	require.Equal(t, []string{"1", `"c"`}, ids)

	_, answers = readThrough(t, strings.NewReader(`[{"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","id":1,"method":"a"}]`+"\n"))
	require.Len(t, answers, 1, "of two, too")
	_, answers = readThrough(t, strings.NewReader(`[{"jsonrpc":"2.0","method":"b"},[]]`+"\n"))
	require.Len(t, answers, 1, "there is one answer at least")
	id, _ := answerOf(t, answers[0])
	require.Equal(t, "null", id)
}

// TestRefusedResponseEndsItsRequest: the agent that waits for it learns that it
// was of no use. It must not be answered under its id, which is the agent's: the
// editor may use the same ID for another request.
func TestRefusedResponseEndsItsRequest(t *testing.T) {
	for name, line := range map[string]string{
		"version":        `{"jsonrpc":"1.0","id":3,"result":{}}`,
		"no outcome":     `{"jsonrpc":"2.0","id":3}`,
		"shape of error": `{"jsonrpc":"2.0","id":3,"error":"no"}`,
		"too long":       `{"jsonrpc":"2.0","result":{"x":"` + strings.Repeat("a", 11<<20) + `"},"id":3}`,
		"too deep":       `{"jsonrpc":"2.0","id":3,"result":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			passed, answers := readThrough(t, strings.NewReader(line+"\n"))
			require.Empty(t, answers)
			require.Len(t, passed, 1)
			var f frame
			require.NoError(t, json.Unmarshal([]byte(passed[0]), &f))
			require.Nil(t, f.check())
			require.Equal(t, "3", string(f.ID))
			require.NotNil(t, f.Error)
		})
	}
}

// TestEndlessLineIsReadInBoundedMemory checks that the id after a quarter of a GB is found, and that the line is not kept.
func TestEndlessLineIsReadInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 7 s of a processor with the race detector")
	}
	line := io.MultiReader(
		strings.NewReader(`{"jsonrpc":"2.0","method":"m","params":"`),
		io.LimitReader(letters{}, 256<<20),
		strings.NewReader(`","id":"end"}`+"\n"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, answers := readThrough(t, line)
	runtime.ReadMemStats(&after)
	require.Len(t, answers, 1)
	id, _ := answerOf(t, answers[0])
	require.Equal(t, `"end"`, id)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(128<<20), "all that was ever allocated")
}

// letters is an endless row of them.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}
