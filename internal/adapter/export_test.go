package adapter

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
)

func TestExportedFile(t *testing.T) {
	dir := t.TempDir()
	a := New(Config{Log: zap.NewNop()})
	path, err := a.exportTo(t.Context(), new(stream.SessionInfo), "s7", dir, "", nil)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "droid-s7.html"), path)
	require.FileExists(t, path)
	_, err = a.exportTo(t.Context(), new(stream.SessionInfo), "s7", dir, "droid-s7.html", nil)
	require.ErrorContains(t, err, "droid-s7.html exists")
}
