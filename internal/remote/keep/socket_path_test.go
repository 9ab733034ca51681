//go:build unix

package keep

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSocketPath(t *testing.T) {
	ours := filepath.Dir(filepath.Dir(socketPath(t)))
	for _, tc := range []struct{ runtime, state, want string }{
		{ours, "/s", ours + "/droid-acp/serve.sock"},
		{"", "/s", "/s/run/serve.sock"},
		{"relative", "/s", "/s/run/serve.sock"},
		{ours + "/none", "/s", "/s/run/serve.sock"},
	} {
		got, err := SocketPath(tc.runtime, tc.state)
		require.NoError(t, err)
		require.Equal(t, tc.want, got)
	}
	_, err := SocketPath("", "")
	require.ErrorContains(t, err, "neither $XDG_RUNTIME_DIR nor $HOME is set")
	_, err = SocketPath("", "/"+strings.Repeat("x", 100))
	require.ErrorContains(t, err, "the path of the server's socket is too long: /xxx")
	require.ErrorContains(t, err, "set $XDG_RUNTIME_DIR to a directory of yours with a shorter path")
	require.Equal(t, 103, maxPath("darwin"))
	if os.Geteuid() == 0 {
		theirs := filepath.Join(ours, "theirs")
		require.NoError(t, os.Mkdir(theirs, 0o700))
		require.NoError(t, os.Chown(theirs, 65534, 65534))
		got, err := SocketPath(theirs, "/s")
		require.NoError(t, err)
		require.Equal(t, "/s/run/serve.sock", got, "as after su")
	}
}

// A path of the maximum length works, and one more byte does not.
func TestLongestPath(t *testing.T) {
	dir := filepath.Dir(socketPath(t))
	path := dir + "/" + strings.Repeat("s", maxPath(runtime.GOOS)-len(dir)-1)
	closeListener(listenAt(t, path))
	_, err := Listen(t.Context(), path+"s", nil)
	require.ErrorContains(t, err, "too long")
}

func TestDirectoryIsPrivate(t *testing.T) {
	path := socketPath(t)
	dir := filepath.Dir(path)
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chmod(dir, 0o710))
	for _, err := range []error{listenError(t, path), connectError(t, path)} {
		require.ErrorContains(t, err, dir+" is open for other users, who could reach a socket in it; close it: chmod 700 "+dir)
	}
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Symlink(t.TempDir(), dir))
	require.ErrorContains(t, connectError(t, path), "is no directory")
	require.NoError(t, os.Remove(dir))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.Chown(dir, 65534, 65534))
		for _, err := range []error{listenError(t, path), connectError(t, path)} {
			require.ErrorContains(t, err, dir+" belongs to another user")
		}
	}
}

func listenError(t *testing.T, path string) error {
	_, err := Listen(t.Context(), path, nil)
	return err
}

func connectError(t *testing.T, path string) error {
	_, err := Connect(t.Context(), path, nil)
	return err
}
