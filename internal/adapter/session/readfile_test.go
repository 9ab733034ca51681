package session

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/render"
)

func TestReadTextIsBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "big")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", maxShownFile+1)), 0o644))
	require.Equal(t, render.File{}, readText(path))
	require.Equal(t, render.File{}, readText(dir), "a directory")
	require.Equal(t, render.File{Known: true}, readText(filepath.Join(dir, "none")))
	require.NoError(t, os.WriteFile(path, []byte{0xff, 0xfe}, 0o644))
	require.Equal(t, render.File{}, readText(path), "no text")
}

// Files of the kernel are not printed, whether they exist or not.
func TestKernelFilesAreNotRead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	for _, path := range []string{"/proc/self/environ", "/proc/none", "/dev/null"} {
		require.False(t, readText(path).Known, path)
	}
}

// A file that hangs delays all by half a second in total, and is shown without its text.
func TestReadingsThatHangAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		f := newFileReader(func(path string) render.File {
			if path != "fine" {
				<-hang
			}
			return render.File{Known: true}
		})
		began := time.Now()
		require.Equal(t, render.Files{"a": {}}, f.Read(context.Background(), []string{"a", "fine"}))
		require.Equal(t, render.Files{"a": {}, "fine": {Known: true}}, f.Read(context.Background(), []string{"a", "fine"}))
		require.Equal(t, shownFilesTime, time.Since(began))
		close(hang)
		synctest.Wait()
		require.Equal(t, render.Files{"a": {Known: true}, "fine": {Known: true}}, f.Read(context.Background(), []string{"a", "fine"}))
	})
}
