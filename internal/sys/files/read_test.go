package files

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadIsBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(path, []byte("12345"), 0o600))
	data, err := Read(path, 5)
	require.NoError(t, err)
	require.Equal(t, "12345", string(data))
	_, err = Read(path, 4)
	require.EqualError(t, err, path+" has more than 4 bytes")
	for max, want := range map[int64]string{9: "12345", 5: "12345", 2: "45"} {
		data, cut, err := ReadTail(path, max)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
		require.Equal(t, max < 5, cut)
	}
	_, err = Read(filepath.Join(dir, "none"), 5)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Read(dir, 5)
	require.ErrorIs(t, err, ErrNotRegular)
	require.EqualError(t, err, dir+" is no regular file")
}

func TestLinksAreFollowedOrNot(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "l")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	if err := os.Symlink("f", link); err != nil {
		t.Skip(err)
	}
	_, err := Read(link, 1)
	require.NoError(t, err)
	_, _, err = OpenNoFollow(link)
	require.ErrorIs(t, err, ErrNotRegular)
	file, info, err := OpenNoFollow(path)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.True(t, info.Mode().IsRegular())

	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	_, err = ReadIn(root, "l", 1)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(os.DevNull, filepath.Join(dir, "out")))
	_, err = ReadIn(root, "out", 1)
	require.Error(t, err)
}

// Only regular files are opened: a pipe without a writer would block forever, and the kernel's files belong to this program, not droid:
// /proc/self/environ has the keys with which the agent was started.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	dir := t.TempDir()
	pipe, link, zero := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "zero")
	makePipe(t, pipe)
	require.NoError(t, os.Symlink("/proc/self", link))
	require.NoError(t, os.Symlink("/dev/zero", zero))
	for _, path := range []string{
		pipe, zero, "/dev/null", "/dev/tty", "/proc/self/environ", "/proc/../proc/self/environ", "/proc/kmsg", "/proc/self/pagemap",
		"/sys/kernel/mm/transparent_hugepage/enabled", link + "/environ", "/proc/self/root/proc/self/environ",
	} {
		_, err := Read(path, 1<<20)
		require.Error(t, err, path)
		if !strings.HasPrefix(path, "/sys") && path != "/proc/kmsg" && path != "/dev/tty" { // not everywhere
			require.ErrorIs(t, err, ErrNotRegular)
		}
	}
}

// A file that became a pipe between the look and the opening does not wait either.
func TestFileReplacedByPipe(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no pipes with a name")
	}
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, _, err := open(path, os.Stat, func(name string, flag int, mode os.FileMode) (*os.File, error) {
		require.NoError(t, os.Remove(path))
		makePipe(t, path)
		return os.OpenFile(name, flag, mode)
	}, 0)
	require.ErrorIs(t, err, ErrNotRegular)
}
