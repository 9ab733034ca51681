package export

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// An export that fails halfway leaves nothing, so that the next one can have the
// name; one that is there already stays as it is.
func TestFailedExportLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.html")
	text := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, _ = io.WriteString(w, text)
			return err
		}
	}
	full := errors.New("no space left on device")
	require.ErrorIs(t, writeNew(path, text("half", full)), full)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)

	require.NoError(t, writeNew(path, text("whole", nil)))
	require.ErrorIs(t, writeNew(path, text("other", nil)), fs.ErrExist)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "whole", string(got))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	entries, err = os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)

	c := &Conversation{title: "One"}
	require.EqualError(t, c.WriteFile(path), path+" exists and is not overwritten; give another name")
	err = c.WriteFile(filepath.Join(dir, "no", "such", "out.html"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotContains(t, err.Error(), ".droid-acp")
	require.NoError(t, c.WriteFile(filepath.Join(dir, "one.html")))
	got, err = os.ReadFile(filepath.Join(dir, "one.html"))
	require.NoError(t, err)
	require.Contains(t, string(got), "<title>One</title>")
}
