package adapter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
)

func TestModelFailureIsATypedError(t *testing.T) {
	for _, tc := range []struct {
		reason, message, advice string
		want                    []string
	}{
		{"model_authentication_failed", "401 mock 401 error", "BYOK Error: 401 mock 401 error", []string{"-32603 model_authentication_failed: BYOK Error: 401", "API key"}},
		{"model_authentication_failed", `401 {"type":"error","error":{"type":"authentication_error","message":"bad key"},"request_id":"r"}`,
			"BYOK Error: 401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"bad key\"},\"request_id\":\"r\"}\n\nCheck it.",
			[]string{"-32603 model_authentication_failed: BYOK Error: 401 bad key Check it. ", "API key"}},
		{"model_rate_limited", "429 slow down", "", []string{"-32603 model_rate_limited: 429", "Wait a little"}},
		{"model_provider_unreachable", "Connection error.", "Check your network", []string{"-32603 model_provider_unreachable: Connection error.", "Check your network", "baseUrl"}},
		{"model_provider_unavailable", "500 mock", "", []string{"-32603 model_provider_unavailable: 500"}},
	} {
		t.Run(tc.message, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				e := begin(t, playing(turns(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
					if p.Text == "next" {
						return d.Say("", "recovered")
					}
					return d.Fail(tc.reason, tc.message, tc.advice)
				}), v))
				end := e.run("go")
				for _, part := range tc.want {
					require.Contains(t, end, part)
				}
				require.Equal(t, "end_turn", e.run("next"), "the session works on")
			})
		})
	}
}

func TestProvidersWordsWithoutJSON(t *testing.T) {
	for text, want := range map[string]string{
		`401 {"type":"error","error":{"type":"authentication_error","message":"bad {key}"}}`: "401 bad {key}",
		"BYOK Error: 529 {\"error\":{\"message\":\"busy\"}}\n\nWait.":                        "BYOK Error: 529 busy\n\nWait.",
		`401 {"error":{"message":"cut`:                                                       `401 {"error":{"message":"cut`,
		`400 {"error":"in another form"}`:                                                    `400 {"error":"in another form"}`,
		`400 {"detail":"in another form"}`:                                                   `400 {"detail":"in another form"}`,
		`200 {"error":{"message":"x"}}`:                                                      `200 {"error":{"message":"x"}}`,
		"":                                                                                   "",
	} {
		require.Equal(t, want, plain(text))
	}
}
