package command

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/session"
)

// The table has every command once, and a page names each.
func TestEveryCommandHasOneRow(t *testing.T) {
	page, err := os.ReadFile("../../../docs/features.md")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, c := range All() {
		require.False(t, names[c.Name], c.Name)
		require.NotEmpty(t, c.Description, c.Name)
		require.NotNil(t, c.Run, c.Name)
		require.True(t, regexp.MustCompile("`/"+c.Name+"[` ]").Match(page), "%s in docs/features.md", c.Name)
		names[c.Name] = true
	}
	require.True(t, names["shell"])
	for name := range terminalCommands() {
		require.False(t, names[name], name)
	}
}

// TestRewindPointsAreListed: each with its number and the beginning of its text.
func TestRewindPointsAreListed(t *testing.T) {
	require.Contains(t, listRewindPoints([]session.RewindPoint{{MessageID: "1", Text: "one\nmore lines"}, {MessageID: "3", Text: "two"}}), "1. one …\n2. two\n")
}
