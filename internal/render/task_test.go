package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

func TestTaskStepsAreBounded(t *testing.T) {
	var steps taskView
	for i := range 3 * maxTaskSteps {
		details, err := json.Marshal(strings.Repeat("x", i))
		require.NoError(t, err)
		steps.add(stream.ProgressUpdate{Type: "tool_call", ToolName: "Read", Details: details})
	}
	require.Len(t, steps.steps, maxTaskSteps)
	require.True(t, strings.HasPrefix(steps.text(), "- … 60 steps before\n"), steps.text())
	require.False(t, steps.add(stream.ProgressUpdate{Type: "status"}))
	require.True(t, strings.HasPrefix((&taskView{steps: []string{"a"}, skipped: 1}).text(), "- … 1 steps before\n- a\n"))
	require.Equal(t, "- a\n", (&taskView{steps: []string{"a"}}).text())
}

// If droid's message does not say that a login is missing, ours is added (quirk 36).
func TestTaskWithoutLogin(t *testing.T) {
	task := newTask(&shownCall{v: New(Options{LoginHint: "Log in."})})
	var update protocol.ToolCall
	task.ended(quirks.ToolEnded{Content: json.RawMessage(`"Could not reach the daemon."`), IsError: true, MayNeedLogin: true}, &update)
	require.Equal(t, []protocol.ToolContent{protocol.TextContent("Could not reach the daemon."),
		protocol.TextContent("droid also says this when it is not logged in to Factory: its subagents need that login, also with a model of your own. Log in.")}, update.Content)
}

// The output of an unfinished call stays. In a history its outcome is unknown, unless it may continue.
func TestUnfinishedTask(t *testing.T) {
	for past, says := range map[bool]string{false: "", true: "What became of the subagent is not known."} {
		var update protocol.ToolCall
		v := New(Options{})
		v.past = past
		(&taskView{shownCall: &shownCall{v: v}}).ended(quirks.ToolEnded{Unfinished: true}, &update)
		require.Equal(t, textContent(says), update.Content)
		update.Content = nil
		(&taskView{shownCall: &shownCall{v: v}}).ended(quirks.ToolEnded{Unfinished: true, Elsewhere: true}, &update)
		require.Empty(t, update)
	}
}
