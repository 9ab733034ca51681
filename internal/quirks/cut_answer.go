package quirks

// What droid does: it makes the model continue an answer that was cut at its output limit, in a separate message. A hidden system message
// (of the role "user" in a history) precedes it.
// Seen on: 0.99 (the words say "truncated"), 0.225.
// Quirk: 11.
// Fixtures: finish_length_0.225.txtar.

import (
	"strings"

	"droid-acp/internal/droid/stream"
)

// isContinuation reports whether a message tells the model to continue a cut answer.
func isContinuation(m stream.Message) bool {
	return m.Visibility == stream.VisibilityLLMOnly && m.Role != stream.RoleAssistant &&
		strings.HasSuffix(plainText(m), "Continue where you left off.")
}
