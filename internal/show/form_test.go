package show

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acptest"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/visible"
)

// hostile is what must not come to the screen as it is.
const hostile = "\x1b[2K\x1b[1A\r\u202e\u009b1A\u200b\nsecond"

// TestPermissionTextIsSafe: it is also told outside of the request.
func TestPermissionTextIsSafe(t *testing.T) {
	text := permissionText(stream.PermissionToolUse{Confirmation: "exec",
		Details: stream.PermissionDetails{FullCommand: hostile, ImpactLevel: "low", RiskLevelReason: hostile}}, false)
	require.NoError(t, acptest.CheckSafe(text, true))
}

// TestChoiceOfAFormIsToldInDroidsWords: the editor gives back the option as it was
// shown.
func TestChoiceOfAFormIsToldInDroidsWords(t *testing.T) {
	options := []string{"plain", hostile}
	for raw, want := range map[string]string{
		encoded(t, visible.Line(hostile)):                            strings.TrimSpace(hostile),
		encoded(t, []string{"plain", visible.Line(hostile), "more"}): "plain, " + hostile + ", more",
		`"own words"`: "own words",
	} {
		require.Equal(t, want, formText(json.RawMessage(raw), options...))
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}
