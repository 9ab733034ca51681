package transport

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Whatever a client sends, what the receiver gets is one JSON object, and all else is answered.
func FuzzRead(f *testing.F) {
	for _, text := range []string{prompt, initialize, `[]`, `{"id":1,"result":{}}`, "{\"method\":\"\xff\"}", ` {"METHOD":"a","params":7}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		message, err := read([]byte(text))
		if err != nil {
			require.True(t, json.Valid(refusal(err)))
			return
		}
		require.True(t, utf8.Valid(message) && json.Valid(message) && message[0] == '{', "%q", message)
	})
}
