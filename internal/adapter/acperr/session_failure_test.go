package acperr

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
)

func TestSessionFailure(t *testing.T) {
	failed := func(reason string) *jsonrpc.Error {
		return Turn(&quirks.Failure{Reason: reason, Typed: true, Message: "402 no credits"})
	}
	for name, c := range map[string]struct {
		err      *jsonrpc.Error
		category string
		actions  []string
	}{
		"exhausted":    {failed("model_usage_exhausted"), "limit", []string{}},
		"rate limited": {failed("model_rate_limited"), "limit", []string{"retry"}},
		"key":          {failed("model_authentication_failed"), "access", []string{"login"}},
		"no login":     {&jsonrpc.Error{Code: -32000, Message: "Authentication required"}, "access", []string{"login"}},
		"rejected":     {failed("model_request_rejected"), "request", []string{}},
		"hook":         {failed("prompt_rejected"), "request", []string{}},
		"unavailable":  {failed("model_provider_unavailable"), "service", []string{"retry"}},
		"unreachable":  {failed("model_provider_unreachable"), "connection", []string{"retry", "new_session"}},
		"crash":        {Crash(&droid.ExitError{}, false), "connection", []string{"retry", "new_session"}},
		"other":        {failed("something_new"), "unknown", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			f, ok := SessionFailure(c.err)
			require.True(t, ok)
			require.Equal(t, c.category, f.Category)
			require.Equal(t, c.actions, f.Actions)
			require.Equal(t, "error", f.Severity)
			require.NotEmpty(t, f.Title)
		})
	}
	for _, err := range []*jsonrpc.Error{Cancelled(), InvalidParams("x"), InvalidRequest("x")} {
		_, ok := SessionFailure(err)
		require.False(t, ok, err.Message)
	}
	require.Equal(t, protocol.SessionFailure{Category: "limit", Severity: "warning", Title: "The model call failed; droid tries again", Reason: "rate_limited", Actions: []string{}}, RetryWarning("rate_limited"))
	require.Equal(t, "unknown", RetryWarning("new").Category)
}
