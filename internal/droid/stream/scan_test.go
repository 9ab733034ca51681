package stream

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// unquote is what encoding/json makes of a string.
func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`"plain"`, `"a\n\t\"\\\/\b\f\r"`, `"\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`,
		`"\ude00\ud83d\ude00"`, "\"\xff\xfe\\n\xc3\"", "\"\xe2\x82\\u0041\"", `"\u0000"`, `""`, `7`, `null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || len(raw) == 0 || raw[0] != '"' || raw[len(raw)-1] != '"' {
			return
		}
		var want string
		require.NoError(t, json.Unmarshal(raw, &want))
		require.Equal(t, want, unquote(raw))
	})
}
