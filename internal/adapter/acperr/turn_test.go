package acperr

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/login"
	"droid-acp/internal/quirks"
)

// A prompt whose request was too large must not be sent again unchanged, whatever reason droid gives.
func TestTooLargeRequest(t *testing.T) {
	for message, failure := range map[string]quirks.Failure{
		"BYOK Error: 413 scripted 413": {Typed: true, Reason: "error"},
		"413 Request Entity Too Large": {},
		"413 too long":                 {Typed: true, Reason: "model_request_rejected"},
	} {
		failure.Message = message
		said := Text(Turn(&failure))
		require.Contains(t, said, message)
		require.Contains(t, said, diagnosis.TooLargeRemedy)
		require.NotContains(t, said, "again")
	}
	for _, message := range []string{"4130 x", "429 413", "the file has 413 lines"} {
		require.NotContains(t, Text(Turn(&quirks.Failure{Message: message})), diagnosis.TooLargeRemedy)
	}
}

// An error of a request that a provider rejected begins with the cause. That the conversation may be too long
// is said only of an error that speaks of length.
func TestRejectedRequestBeginsWithItsCause(t *testing.T) {
	const persists = "If this persists, verify your custom model configuration in settings."
	advice := func(cause string) string {
		return "BYOK Error: 400 " + cause + "\n\nUpstream error: " + cause + "\n\n" + persists
	}
	for cause, long := range map[string]bool{
		"Unsupported parameter: 'temperature'": false, "max_tokens is too large: 999999": false, "the model `x` does not exist": false, "text is not a valid image": false,
		"This model's maximum context length is 8192 tokens": true, "prompt is too long: 210000 tokens > 200000 maximum": true, "context_length_exceeded": true,
		"input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000": true, "Please reduce the length of the messages.": true,
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).": true,
	} {
		for _, f := range []quirks.Failure{{Typed: true, Reason: "model_request_rejected", Message: "400 " + cause, Advice: advice(cause)}, {Message: "400 " + cause, Advice: advice(cause)}, {Message: "400 " + cause}} {
			err := Turn(&f)
			said := Text(err)
			require.True(t, strings.HasPrefix(said, "400 "+cause+"\n\nThe provider rejected the request."), said)
			require.Equal(t, 1, strings.Count(said, cause), said)
			require.Equal(t, long, strings.Contains(said, "/compact"), said)
			require.Equal(t, f.Advice != "" && !long, strings.Contains(said, persists), said)
			told := For(protocol.ClientCapabilities{}, true, err)
			require.Contains(t, told.Message, cause, "a client that shows no details has the cause")
			require.NotContains(t, told.Data.(map[string]string)["details"], cause)
			told = For(protocol.ClientCapabilities{ClientProfile: protocol.ClientProfile{ErrorMessageOnly: true}}, true, err)
			require.True(t, strings.HasPrefix(told.Message, "400 "+cause), told.Message)
		}
	}
}

// droid's three tips for custom models (0.99 and 0.225, seen) become one line.
func TestRejectedRequestHasOneRemedy(t *testing.T) {
	const cause = "Invalid value: 'temperature' must be at most 1."
	tips := "Troubleshooting tips for custom models:\n1. Verify the \"provider\" type in your BYOK config matches your endpoint (use \"openai\" for …)\n" +
		"2. Ensure your baseUrl is reachable and the API key is valid\n3. Check that the model name matches what your endpoint expects"
	for _, f := range []quirks.Failure{
		{Typed: true, Reason: "model_request_rejected", Message: "400 " + cause, Advice: "BYOK Error: 400 " + cause + "\n\n" + tips},
		{Message: "400 " + cause, Advice: tips},
	} {
		require.Equal(t, "400 "+cause+"\n\nThe provider rejected the request.\n\n"+diagnosis.CustomModelRemedy, Text(Turn(&f)))
	}
}

// droid says of a key that is not set that the login with it failed.
func TestLoginWithoutAKey(t *testing.T) {
	err := Login(login.APIKey, &login.Error{Code: -32603, Message: "API key authentication failed: No authentication available. Set FACTORY_API_KEY or login."})
	require.Equal(t, "FACTORY_API_KEY is not set. Set it where the editor starts this agent, and start the agent again.", Text(err))
	err = Login(login.APIKey, &login.Error{Code: -32603, Message: "API key authentication failed: HTTP 401"})
	require.Contains(t, Text(err), "HTTP 401. Set FACTORY_API_KEY where the editor starts this agent")
}

// A turn that droid could not store may have failed before the model was asked.
func TestTurnThatIsNotStored(t *testing.T) {
	said := Text(Turn(&quirks.Failure{Typed: true, Reason: string(diagnosis.NotPersisted), Message: "ENOSPC: no space left on device, write"}))
	require.Contains(t, said, "it may have done only part of the work")
	require.Contains(t, said, "Make room on the disk")
}

// The error of a droid that dies because of a file says what to do about the file.
func TestCrashBecauseOfAFile(t *testing.T) {
	said := Text(Crash(&droid.ExitError{Code: 1, Started: true, Stderr: []string{"Critical error: ENOSPC: no space left on device, write"}}, false))
	require.Equal(t, "droid exited with code 1: Critical error: ENOSPC: no space left on device, write. Make room on the disk, or have your quota raised. "+
		"The next prompt starts droid again and continues this session.", said)
}
