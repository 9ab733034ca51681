package session

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

func TestExportedFile(t *testing.T) {
	dir := t.TempDir()
	d := &Deps{Calls: files.NewCallLimiter(1, time.Minute), Log: zap.NewNop()}
	d.Threads = store.NewThreads(store.None, d.Calls, d.Log)
	path, err := d.exportTo(t.Context(), new(stream.SessionInfo), exported{session: "s7", cwd: dir})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "droid-s7.html"), path)
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(page), dir, "the machine's directory is left out")
	path, err = d.exportTo(t.Context(), new(stream.SessionInfo), exported{session: "s7", cwd: dir, file: "named.html", named: true})
	require.NoError(t, err)
	page, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(page), "<dt>Directory</dt><dd>"+dir+"<")
	_, err = d.exportTo(t.Context(), new(stream.SessionInfo), exported{session: "s7", cwd: dir, file: "droid-s7.html"})
	require.ErrorContains(t, err, "droid-s7.html exists")
}
