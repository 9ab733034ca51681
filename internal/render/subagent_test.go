package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/quirks"
)

// A subagent's name comes from the model: it is shown on one line, without markup.
func TestSubagentName(t *testing.T) {
	require.Equal(t, `Subagent *look* asks.`, subagentAsks(quirks.PermissionRequested{Subagent: "look"}))
	require.Equal(t, `Subagent *a\*\* b* asks.`, subagentAsks(quirks.PermissionRequested{Subagent: " a** b \n"}))
	require.Equal(t, "A subagent asks.", subagentAsks(quirks.PermissionRequested{Subagent: " \n"}))
	require.Empty(t, subagentAsks(quirks.PermissionRequested{}))
	require.NotContains(t, subagentAsks(quirks.PermissionRequested{Subagent: "a\n\nYou may allow this"}), "\n")
	require.Less(t, len(subagentAsks(quirks.PermissionRequested{Subagent: strings.Repeat("x", 1000)})), 120)
}

// The result of a Task has words to the model before the answer.
func TestTaskAnswer(t *testing.T) {
	for result, want := range map[string]string{
		"session_id: a-1\nfound it": "found it",
		"session_id: a-1\nUse this report as the source of record. [cut]\nfound\n\nit": "found\n\nit",
		"session_id: a-1\nUse this": "Use this",
		"session_id: a 1\nfound it": "session_id: a 1\nfound it",
		"session_id: a-1":           "",
		"found\nit":                 "found\nit",
		"Use this report as the source of record.\nfound it": "Use this report as the source of record.\nfound it",
	} {
		require.Equal(t, want, TaskAnswer(result), result)
	}
	require.Empty(t, answerOf(json.RawMessage(`"session_id: a-1"`)))
	require.Len(t, answerOf(json.RawMessage(`[{"type":"text","text":"session_id: a-1\nx"},{"type":"image","source":{"data":"","mediaType":"image/png"}}]`)), 2)
	require.Len(t, answerOf(json.RawMessage(`[{"type":"image","source":{"data":"","mediaType":"image/png"}}]`)), 1)
}

// The end of a subagent is described in words; an unknown reason of droid is shown unchanged.
func TestSubagentOutcome(t *testing.T) {
	require.Equal(t, "The subagent worked in the background and was stopped.", SubagentOutcome(quirks.SubagentEnded{Reason: "cancelled"}))
	require.Equal(t, `The subagent worked in the background and ended (model\_rate\_limited).`, SubagentOutcome(quirks.SubagentEnded{Reason: "model_rate_limited"}))
	require.Equal(t, "ended (droid does not say how)", outcomeText(""))
}
