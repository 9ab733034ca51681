package show

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProvidersWordsWithoutJSON(t *testing.T) {
	for text, want := range map[string]string{
		`401 {"type":"error","error":{"type":"authentication_error","message":"bad {key}"}}`: "401 bad {key}",
		"BYOK Error: 529 {\"error\":{\"message\":\"busy\"}}\n\nWait.":                        "BYOK Error: 529 busy\n\nWait.",
		`401 {"error":{"message":"cut`:                                                       `401 {"error":{"message":"cut`,
		`400 {"error":"in another form"}`:                                                    "400 in another form",
		`400 {"detail":"in another form"}`:                                                   "400 in another form",
		`400 {"message":"in another form"}`:                                                  "400 in another form",
		`400 {"problem":"in another form"}`:                                                  `400 {"problem":"in another form"}`,
		`400 {"error":["a"],"detail":7}`:                                                     `400 {"error":["a"],"detail":7}`,
		`200 {"error":{"message":"x"}}`:                                                      `200 {"error":{"message":"x"}}`,
		"":                                                                                   "",
	} {
		require.Equal(t, want, ProviderWords(text))
	}
}
