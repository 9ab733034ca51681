package wholefile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	require.NoError(t, CheckTarget(path))
	require.NoError(t, Write(path, []byte("one"), 0o666))
	require.NoError(t, CheckTarget(path))
	left := filepath.Join(dir, fmt.Sprintf(".r.json.%d.partial", os.Getpid())) // by a run that was killed
	require.NoError(t, os.WriteFile(left, nil, 0o600))
	require.NoError(t, Write(path, []byte("two"), 0o666))
	require.NoError(t, os.Remove(left))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "two", string(text))

	require.Error(t, CheckTarget(filepath.Join(dir, "no", "r.json")))
	require.ErrorContains(t, CheckTarget(filepath.Join(path, "r.json")), "r.json")
	require.ErrorContains(t, CheckTarget(dir), "is no regular file")
	require.Error(t, Write(dir, []byte("x"), 0o666), "a directory is not replaced")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is left of a file that was not written")
}
