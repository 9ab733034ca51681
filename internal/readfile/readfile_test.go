package readfile

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/show"
)

func TestReadTextIsBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "big")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", maxSize+1)), 0o644))
	require.Equal(t, show.File{}, Text(path))
	require.Equal(t, show.File{}, Text(dir), "a directory")
	require.Equal(t, show.File{Known: true}, Text(filepath.Join(dir, "none")))
	require.NoError(t, os.WriteFile(path, []byte{0xff, 0xfe}, 0o644))
	require.Equal(t, show.File{}, Text(path), "no text")
}

// The kernel's files are this program's, not droid's: /proc/self/environ has the
// keys that the agent was started with.
func TestKernelFilesAreNotRead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink("/proc/self", link))
	for _, path := range []string{"/proc/self/environ", "/proc/../proc/self/environ", "/proc/kmsg", "/proc/self/pagemap",
		"/sys/kernel/mm/transparent_hugepage/enabled", "/dev/null", "/dev/tty", link + "/environ", "/proc/self/root/proc/self/environ"} {
		require.False(t, Text(path).Known, path) // it is not printed
	}
}

// Files that hang keep a bounded number of goroutines, and are not tried again
// while they do.
func TestReadingsThatHangAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang, begun := make(chan struct{}), new(atomic.Int32)
		f := New(func(path string) show.File {
			if path != "fine" {
				begun.Add(1)
				<-hang
			}
			return show.File{Known: true}
		})
		began := time.Now()
		for range 2 {
			require.Equal(t, show.Files{"a": {}}, f.Read(context.Background(), []string{"a"}))
		}
		require.Equal(t, wait, time.Since(began))
		require.Equal(t, show.Files{"a": {}, "fine": {Known: true}}, f.Read(context.Background(), []string{"a", "fine"}))
		for i := range 2 * maxReadings {
			f.Read(context.Background(), []string{strings.Repeat("x", i)})
		}
		synctest.Wait()
		require.EqualValues(t, maxReadings, begun.Load())
		require.Equal(t, show.Files{"fine": {}}, f.Read(context.Background(), []string{"fine"}), "none is left")
		close(hang)
		synctest.Wait()
		require.Equal(t, show.Files{"fine": {Known: true}}, f.Read(context.Background(), []string{"fine"}))
	})
}
