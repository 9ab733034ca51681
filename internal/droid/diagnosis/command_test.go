package diagnosis

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/text/paths"
)

// A command begins with what runs this program, wherever it is typed.
func TestCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("other quotes, and no links")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	require.Equal(t, paths.ShellQuote(self), program())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "droid-acp"), nil, 0o755))
	require.Equal(t, paths.ShellQuote(self), program(), "another program of that name is in the PATH")
	require.NoError(t, os.Remove(filepath.Join(dir, "droid-acp")))
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "droid-acp")))
	require.Equal(t, "droid-acp", program())
	require.Equal(t, "`"+Program()+" trust --yes '/my project'`", Command("trust", "--yes", "/my project"))
	require.Contains(t, LoginRemedy(), Command("login"))
	require.Contains(t, DoctorHint(), Command("doctor"))
}

// droid's error about a file that it cannot use comes with a remedy.
func TestRefusal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("other words")
	}
	yours := "Make it yours again: `sudo chown -R \"$(id -u)\" '/home/a b/.factory' && chmod -R u+rwX '/home/a b/.factory'`."
	said := "EACCES: permission denied, open '/home/a b/.factory/sessions/-w/1.jsonl'"
	require.Equal(t, said+". "+yours, Refusal(said))
	require.Equal(t, yours, FileRemedy("/home/a b/.factory/sessions/-w", &fs.PathError{Op: "open", Err: syscall.EACCES}))
	require.Equal(t, yours, FileRemedy("/home/a b/.factory", fs.ErrPermission))
	require.Equal(t, "Make it yours again: `sudo chown \"$(id -u)\" /home/me && chmod u+rwX /home/me`.", FileRemedy("/home/me", syscall.EPERM), "not all of it")
	require.Equal(t, "ENOSPC: no space left on device, write. Make room on the disk, or have your quota raised.", Refusal("ENOSPC: no space left on device, write."))
	require.Equal(t, "not today", Refusal("not today."))
	require.Empty(t, FileRemedy("/x", fs.ErrNotExist))
}
