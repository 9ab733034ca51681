//go:build unix

package droid

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A command's output is read only from droid's own kind of file: a result may name any.
func TestOpenOutput(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", dir+"/")
	in := func(dir, name string) string { return filepath.Join(dir, name) }
	good := in(dir, "droid-bg-1795467777828.out")
	for _, path := range []string{good, in(dir, "secret"), in(other, "droid-bg-1.out")} {
		require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	}
	require.NoError(t, os.Mkdir(in(dir, "droid-bg-2.out"), 0o700))
	require.NoError(t, os.Symlink(in(dir, "secret"), in(dir, "droid-bg-3.out")))
	require.NoError(t, unix.Mkfifo(in(dir, "droid-bg-4.out"), 0o600))

	f, err := OpenOutput(good)
	require.NoError(t, err)
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Equal(t, "text", string(text))
	for _, path := range []string{
		in(dir, "secret"), in(other, "droid-bg-1.out"), in(dir, "droid-bg-2.out"), in(dir, "droid-bg-3.out"), in(dir, "droid-bg-4.out"), in(dir, "droid-bg-5.out"),
		dir + "/../" + filepath.Base(other) + "/droid-bg-1.out", "droid-bg-1.out", "", good + "\n",
	} {
		_, err := OpenOutput(path)
		require.Error(t, err, path)
	}
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(good, 65534, -1))
		_, err = OpenOutput(good)
		require.ErrorContains(t, err, "another user")
	}
}

// A command that was left behind is identified by its process and by the time in the name of its output.
func TestMayStillRun(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, cmd.Start())
	id, now := cmd.Process.Pid, time.Now().UnixMilli()
	require.True(t, MayStillRun(id, fmt.Sprintf("/tmp/droid-bg-%d.out", now)))
	for _, other := range []string{fmt.Sprintf("/tmp/droid-bg-%d.out", now-3_600_000), "/tmp/droid-bg-.out", "", "/tmp/droid-bg-99999999999999999999.out"} {
		require.False(t, MayStillRun(id, other), other)
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	require.False(t, MayStillRun(id, fmt.Sprintf("/tmp/droid-bg-%d.out", now)))
}
