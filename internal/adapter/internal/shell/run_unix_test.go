//go:build unix

package shell

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// succeeded: the command exited with code 0.
func succeeded(e End) bool { return e.ExitCode != nil && *e.ExitCode == 0 }

func TestRun(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, c := range []struct{ command, output, end string }{
		{"pwd; echo wrong >&2; exit 3", dir + "\nwrong\n", "Exit code 3"},
		{"true", "", "Exit code 0"},
		{"kill -s KILL $$", "", "Ended by signal: killed."},
	} {
		var out bytes.Buffer
		end := Run(t.Context(), dir, c.command, &out)
		require.Equal(t, c.output, out.String())
		require.Equal(t, c.end, end.String())
		require.Equal(t, c.command == "true", succeeded(end))
	}
}

func TestRunThatDoesNotStart(t *testing.T) {
	end := Run(t.Context(), filepath.Join(t.TempDir(), "none"), "true", new(bytes.Buffer))
	require.Regexp(t, `^The command was not started: .*no such file or directory\.$`, end.String())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, End{Note: "Cancelled."}, Run(ctx, t.TempDir(), "true", new(bytes.Buffer)))
}

// begun ends a context with the first output.
type begun func()

func (b begun) Write(p []byte) (int, error) {
	b()
	return len(p), nil
}

// Cancel ends the whole group, also what ignores a polite signal.
func TestRunIsCancelled(t *testing.T) {
	for name, command := range map[string]string{
		"polite":   "sleep 1000 & echo $! > pid; echo begun; wait",
		"stubborn": "trap '' TERM; sleep 1000 & echo $! > pid; echo begun; wait; wait",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			dir := t.TempDir()
			require.Equal(t, End{Note: "Cancelled."}, Run(ctx, dir, command, begun(cancel)))
			requireGone(t, readPID(t, dir))
		})
	}
}

// A process that left the command's group may hold its output open; Run still ends, with the output so far.
func TestRunDoesNotWaitForOthers(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	dir, out := t.TempDir(), new(bytes.Buffer)
	require.True(t, succeeded(Run(t.Context(), dir, "setsid sh -c 'echo $$ > pid; exec sleep 1000' & until test -s pid; do :; done; echo out", out)))
	require.NoError(t, syscall.Kill(readPID(t, dir), syscall.SIGKILL), "it goes on")
	require.Equal(t, "out\n", out.String())
}

// A panic of the output reaches the caller, with the command gone.
func TestRunPassesAPanicOn(t *testing.T) {
	dir := t.TempDir()
	require.PanicsWithValue(t, "test", func() {
		Run(t.Context(), dir, "echo $$ > pid; echo hi; exec sleep 1000", begun(func() { panic("test") }))
	})
	requireGone(t, readPID(t, dir))
}

func readPID(t *testing.T, dir string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	require.NoError(t, err)
	return pid
}

// requireGone checks that a process has ended; a killed one that nobody has
// waited for yet counts.
func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		if syscall.Kill(pid, 0) != nil {
			return true
		}
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return strings.Contains(string(stat), ") Z ")
	}, 5*time.Second, 5*time.Millisecond)
}
