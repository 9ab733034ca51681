package acperr

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
)

// TestErrorsAsClientsShowThem checks that no part of an error is shown twice or lost: a client that shows one part of an error gets the
// whole text in that part, with its lines.
func TestErrorsAsClientsShowThem(t *testing.T) {
	limited := Internal("model_rate_limited", "429 slow down\nWait a little.\nOr choose another model.")
	const all = "429 slow down\nWait a little.\nOr choose another model."
	type told struct{ message, details string }
	both := told{"429 slow down", "Wait a little.\nOr choose another model."}
	alone := told{all, ""}
	details := told{both.message, all}
	for name, tc := range map[string]struct {
		traits        protocol.ClientProfile
		prompt, other told
	}{
		"both":                  {protocol.ClientProfile{}, both, both},
		"the message":           {protocol.ClientProfile{ErrorMessageOnly: true}, alone, alone},
		"the details":           {protocol.ClientProfile{ErrorDetailsOnly: true}, details, details},
		"details of its prompt": {protocol.ClientProfile{PromptErrorDetailsOnly: true}, details, alone},
	} {
		client := protocol.ClientCapabilities{ClientProfile: tc.traits}
		for prompt, want := range map[bool]told{true: tc.prompt, false: tc.other} {
			got := For(client, prompt, limited)
			require.Equal(t, want.message, got.Message, name)
			data := map[string]string{}
			if want.details != "" {
				data["details"] = want.details
			}
			if !tc.traits.PromptErrorDetailsOnly { // which shows the data
				data["kind"] = "model_rate_limited"
				require.Equal(t, "model_rate_limited", KindOf(got))
			}
			if len(data) == 0 {
				require.Nil(t, got.Data, name)
			} else {
				require.Equal(t, data, got.Data, name)
			}
		}
	}
	require.Equal(t, "429 slow down Wait a little. Or choose another model.", limited.Message, "the error itself stays as it was")
}

func TestErrorsInOneSentence(t *testing.T) {
	for name, tc := range map[string]struct {
		err, want *jsonrpc.Error
	}{
		"one sentence":    {InvalidParams("cwd is missing"), &jsonrpc.Error{Code: -32602, Message: "Invalid params: cwd is missing"}},
		"several":         {InvalidRequest("It is late. Go home."), &jsonrpc.Error{Code: -32600, Message: "Invalid request: It is late.", Data: map[string]string{"details": "Go home."}}},
		"an abbreviation": {Internal("x", "e.g. this. And that."), &jsonrpc.Error{Code: -32603, Message: "e.g. this.", Data: map[string]string{"kind": "x", "details": "And that."}}},
		"more in its data": {UnknownSession("a"), &jsonrpc.Error{Code: CodeNoSession, Message: `There is no session "a".`,
			Data: map[string]string{"details": "Create one with session/new, or use one that session/list returns.", "sessionId": "a"}}},
		"no repetition": {Cancelled(), Cancelled()},
	} {
		require.Equal(t, tc.want, For(protocol.ClientCapabilities{}, true, tc.err), name)
	}
}
