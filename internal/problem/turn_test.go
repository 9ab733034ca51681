package problem

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/diagnosis"
	"droid-acp/internal/quirks"
)

// A prompt whose request was too large is not to be sent again as it is, whatever reason droid gives.
func TestTooLargeRequest(t *testing.T) {
	for message, failure := range map[string]quirks.Failure{
		"BYOK Error: 413 scripted 413": {Typed: true, Reason: "error"},
		"413 Request Entity Too Large": {},
		"413 too long":                 {Typed: true, Reason: "model_request_rejected"},
	} {
		failure.Message = message
		said := Text(Turn(&failure, false))
		require.Contains(t, said, message)
		require.Contains(t, said, diagnosis.TooLargeRemedy)
		require.NotContains(t, said, "again")
	}
	for _, message := range []string{"4130 x", "429 413", "the file has 413 lines"} {
		require.NotContains(t, Text(Turn(&quirks.Failure{Message: message}, false)), diagnosis.TooLargeRemedy)
	}
}
