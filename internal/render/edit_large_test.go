package render

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// largestFile is the size of the largest files that are read for a diff, in bytes.
const largestFile = 1 << 20

// Shapes of calls that are too much to be shown whole.

// manyReplacements is a MultiEdit of 20,000 replacements in a file of a million
// bytes.
func manyReplacements(t testing.TB, s *harness) (tool string, raw json.RawMessage) {
	t.Helper()
	path := filepath.Join(s.cwd, "big.txt")
	var changes []map[string]any
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "line %d %s\n", i, strings.Repeat("x", 40))
		changes = append(changes, map[string]any{"old_str": fmt.Sprintf("line %d ", 19_999-i), "new_str": fmt.Sprintf("LINE %d ", i)})
	}
	s.disk[path] = text.String()
	raw, err := json.Marshal(map[string]any{"file_path": path, "changes": changes})
	require.NoError(t, err)
	return "MultiEdit", raw
}

// manyFiles is a patch that deletes 50,000 files.
func manyFiles(t testing.TB) (tool string, raw json.RawMessage) {
	t.Helper()
	var patch strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&patch, "*** Delete File: dir/%d\n", i)
	}
	raw, err := json.Marshal(map[string]any{"input": "*** Begin Patch\n" + patch.String() + "*** End Patch"})
	require.NoError(t, err)
	return "ApplyPatch", raw
}

// manyLines is a patch of equal lines for a file of a million bytes of them.
func manyLines(t testing.TB, s *harness) (tool string, raw json.RawMessage) {
	t.Helper()
	s.disk[filepath.Join(s.cwd, "big.txt")] = strings.Repeat("a\n", largestFile/2)
	raw, err := json.Marshal(map[string]any{"input": "*** Begin Patch\n*** Update File: big.txt\n" + strings.Repeat(" a\n", largestFile/4) + "-b\n+c\n*** End Patch"})
	require.NoError(t, err)
	return "ApplyPatch", raw
}
