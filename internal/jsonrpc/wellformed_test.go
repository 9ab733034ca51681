package jsonrpc

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestWellFormed(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"b"}`:                   `{"a":"b"}`,
		"ä 😀":                         "ä 😀",
		"\xff\xfea\xe2\x82":           "\uFFFDa\uFFFD",
		`\ud83d\ude00 \u00e4 \n`:      `\ud83d\ude00 \u00e4 \n`,
		`\ud83d`:                      `\ufffd`,
		`\uDE00\uD83D`:                `\ufffd\ufffd`,
		`\ud83d\ud83d\ude00x`:         `\ufffd\ud83d\ude00x`,
		`\\ud83d \\\ud83d \"`:         `\\ud83d \\\ufffd \"`,
		`a\n\ud83dx` + "\xff":         `a\n\ufffdx` + "\uFFFD",
		`\ud8`:                        `\ud8`,
		`\`:                           `\`,
		`\ud83d\u12`:                  `\ufffd\u12`,
		`\u00e4\ud83d`:                `\u00e4\ufffd`,
		`\nx\ud83d`:                   `\nx\ufffd`,
		`no escape but a back\\slash`: `no escape but a back\\slash`,
	} {
		require.Equal(t, want, string(wellFormed([]byte(text))))
	}
}

// FuzzWellFormed: strict readers accept the result, and it means what lenient readers
// made of it.
func FuzzWellFormed(f *testing.F) {
	f.Add(`["\ud83d\ude00\ud83d", "` + "\xff" + `"]`)
	f.Fuzz(func(t *testing.T, text string) {
		got := wellFormed([]byte(text))
		require.True(t, utf8.Valid(got))
		require.Equal(t, -1, firstUnpaired(got))
		require.Equal(t, got, wellFormed(got))
		if json.Valid([]byte(text)) && utf8.ValidString(text) {
			var before, after any
			require.Equal(t, json.Unmarshal([]byte(text), &before), json.Unmarshal(got, &after))
			require.Equal(t, before, after)
		}
	})
}
