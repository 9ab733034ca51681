package stream

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPathsAreDocumented: docs/protocol.md lists the table.
func TestPathsAreDocumented(t *testing.T) {
	var rows strings.Builder
	for _, what := range slices.Sorted(maps.Keys(pathsOf)) {
		fmt.Fprintf(&rows, "| `%s` | `%s` |\n", what, strings.Join(strings.Fields(pathsOf[what]), "`, `"))
	}
	text, err := os.ReadFile("../../../docs/protocol.md")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(text), "\n"+rows.String()+"\n"), "docs/protocol.md lacks these rows:\n%s", rows.String())
}
