package render

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProviderMessageWithoutJSON(t *testing.T) {
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
		require.Equal(t, want, ProviderMessage(text))
	}
}

// The provider's text is shown once: droid's advice repeats it.
func TestProviderMessageOnce(t *testing.T) {
	const advice = "If this persists, verify your custom model configuration in settings."
	for text, want := range map[string]string{
		"BYOK Error: 401 bad key\n\nUpstream error: bad key\n\n" + advice:                "BYOK Error: 401 bad key\n\n" + advice,
		"BYOK Error: 402 no credit\n\nUpstream error: no credit\n\n Check your billing.": "BYOK Error: 402 no credit\n\nCheck your billing.",
		`BYOK Error: 401 {"error":{"message":"bad"}}` + "\n\nUpstream error: bad":        "BYOK Error: 401 bad",
		"BYOK Error: 401 refused\n\nUpstream error: the key has ended\n\n" + advice:      "BYOK Error: 401 refused\n\nUpstream error: the key has ended\n\n" + advice,
		"BYOK Error: 401 bad key, it says \"Upstream error: bad key\"\n\n" + advice:      "BYOK Error: 401 bad key, it says \"Upstream error: bad key\"\n\n" + advice,
	} {
		require.Equal(t, want, ProviderMessage(text))
	}
}
