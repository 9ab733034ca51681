package diagnosis

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
)

// Where the system lacks something that droid's start needs, the remedy is about that, and not about droid.
func TestStartLacksSomething(t *testing.T) {
	for what, tc := range map[string]struct {
		err    error
		remedy string
	}{
		"descriptors":         {os.NewSyscallError("pipe2", syscall.EMFILE), "more open files (`ulimit -n 1024`)"},
		"descriptors to fork": {&fs.PathError{Op: "fork/exec", Path: "/bin/droid", Err: syscall.EMFILE}, "more open files (`ulimit -n 1024`)"},
		"the system's files":  {os.NewSyscallError("pipe2", syscall.ENFILE), "End programs"},
		"room for a file":     {&fs.PathError{Op: "open", Path: "/tmp/x", Err: syscall.ENOSPC}, "Make room on the disk"},
		"a writable disk":     {&fs.PathError{Op: "mkdir", Path: "/tmp/x", Err: syscall.EROFS}, "Have its file system mounted"},
	} {
		got := Start(fmt.Errorf("starting droid /bin/droid: %w", tc.err))
		require.Equal(t, StartFailed, got.Kind, what)
		require.Contains(t, got.Cause, tc.err.Error(), what)
		require.Contains(t, got.Remedy, tc.remedy, what)
		require.NotContains(t, got.Error(), "--version", what)
	}
	require.Contains(t, Refusal("EMFILE: too many open files, open '/home/me/.factory/x'"), "more open files", "droid says it")
}

// A droid that is started again may find its directory gone.
func TestStartInADirectoryThatIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	program, err := os.Executable()
	require.NoError(t, err)
	_, err = droid.Start(droid.Command{Path: program, Dir: dir, TrustsAll: true}, nil)
	got := Start(err)
	require.Equal(t, StartFailed, got.Kind)
	require.Contains(t, got.Cause, dir)
	require.Equal(t, "Create this directory again and try again, or work in another one.", got.Remedy)
}
