package adapter

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

	"droid-acp/internal/fakedroid"
)

// neverRead makes the files of an editor's agent hang, as those of a dead mount
// do, until the test ends.
func neverRead(t *testing.T, e *editor) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	e.agent.files.readText = func(string) fileText {
		<-hang
		return fileText{}
	}
}

// A file that cannot be read for as long as the turn lasts holds nothing up for
// long: the request for permission comes with the diff that the input makes, a
// cancel is heard at once, and the turn has its end.
func TestFileThatHangsHoldsUpNothing(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(uses(create), v))
		neverRead(t, e)
		began := time.Now()
		require.Equal(t, "end_turn", e.run("go"))
		require.Less(t, time.Since(began), 3*time.Second)
		require.Contains(t, e.updates(), "ask")
		require.Contains(t, e.updates(), "tool_call_update t2 completed")
	})
}

// While a file is being read the owner listens: a cancel reaches droid before the
// read is given up.
func TestCancelIsHeardWhileAFileIsRead(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(uses(create), v))
		neverRead(t, e)
		id := e.prompt("go")
		synctest.Wait()
		began := time.Now()
		e.cancel()
		heard := false
		synctest.Wait()
		e.inside(func(s *Session) { heard = !s.works() || s.stopsTurn() })
		require.True(t, heard)
		require.Zero(t, time.Since(began))
		require.Equal(t, "cancelled", ended(e.await(id)))
		require.NotContains(t, e.updates(), "ask")
	})
}

func TestReadTextIsBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "big")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", maxRead+1)), 0o644))
	require.Equal(t, fileText{}, readText(path))
	require.Equal(t, fileText{}, readText(dir), "a directory")
	require.Equal(t, fileText{known: true}, readText(filepath.Join(dir, "none")))
	require.NoError(t, os.WriteFile(path, []byte{0xff, 0xfe}, 0o644))
	require.Equal(t, fileText{}, readText(path), "no text")
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
		require.False(t, readText(path).known, path) // it is not printed
	}
}

// Files that hang keep a bounded number of goroutines, and are not tried again
// while they do.
func TestReadingsThatHangAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang, begun := make(chan struct{}), new(atomic.Int32)
		f := newFiles()
		f.readText = func(path string) fileText {
			if path != "fine" {
				begun.Add(1)
				<-hang
			}
			return fileText{known: true}
		}
		began := time.Now()
		for range 2 {
			require.Equal(t, map[string]fileText{"a": {}}, f.read(context.Background(), []string{"a"}))
		}
		require.Equal(t, readWait, time.Since(began))
		require.Equal(t, map[string]fileText{"a": {}, "fine": {known: true}}, f.read(context.Background(), []string{"a", "fine"}))
		for i := range 2 * maxReadings {
			f.read(context.Background(), []string{strings.Repeat("x", i)})
		}
		synctest.Wait()
		require.EqualValues(t, maxReadings, begun.Load())
		require.Equal(t, map[string]fileText{"fine": {}}, f.read(context.Background(), []string{"fine"}), "none is left")
		close(hang)
		synctest.Wait()
		require.Equal(t, map[string]fileText{"fine": {known: true}}, f.read(context.Background(), []string{"fine"}))
	})
}
