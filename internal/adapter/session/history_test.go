package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// TestNotShown checks that a load reports the gaps of its history.
func TestNotShown(t *testing.T) {
	require.Empty(t, notShown(&stream.SessionInfo{}, false))
	require.Equal(t, []string{
		"The session has older messages that droid did not return.",
		"Not shown are 2 of the session's messages: droid told them in a form that droid-acp cannot read.",
		"What has no result above had not ended as this was loaded: it runs, or waits for an answer in the other window.",
	}, notShown(&stream.SessionInfo{HasOlderMessages: true, Unreadable: 2}, true))
}
