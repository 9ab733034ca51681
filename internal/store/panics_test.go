package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPanicWhileReadingSkipsTheFile: in a goroutine of the list's own it would
// end the program.
func TestPanicWhileReadingSkipsTheFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"+transcript), []byte("{}\n"), 0o600))
	k := new(lister).look(nil, candidate{dir: directory{path: dir}, id: "a"}) // no reader: that panics
	require.ErrorContains(t, k.err, "droid-acp failed")
	require.False(t, k.wanted)
}
