package jsonrpc

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzOutline checks that rejectedScanner finds what encoding/json finds, however the
// line is cut into pieces, and that it never takes an id out of params.
func FuzzOutline(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"id":2}}`), 3)
	f.Add([]byte(`{"a":[1,{"id":"x\""}],"\u0069d":"y\\","result":null}`), 1)
	f.Add([]byte(`{"id":1}{"id":2}`), 7)
	f.Fuzz(func(t *testing.T, line []byte, cut int) {
		whole, pieces := new(rejectedScanner), new(rejectedScanner)
		whole.scan(line)
		for rest := line; len(rest) > 0; {
			n := min(max(1, cut), len(rest))
			pieces.scan(rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, whole.id, pieces.id)
		require.Equal(t, whole.isResponse(), pieces.isResponse())
		require.Equal(t, whole.blank(), len(bytes.Trim(line, " \t\r\n")) == 0)
		if id := whole.id; id != nil {
			require.True(t, json.Valid(id))
			require.Contains(t, `"-0123456789`, string(id[:1]))
		}
		var fr frame
		if !json.Valid(line) || json.Unmarshal(line, &fr) != nil || fr.answerID() == nil {
			return
		}
		require.Equal(t, string(fr.answerID()), string(whole.id))
	})
}
