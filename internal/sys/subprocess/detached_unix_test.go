//go:build unix

package subprocess

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A detached program leads a new session, has no input, and gets no descriptor but its
// three, also where somebody left one open for us.
func TestDetached(t *testing.T) {
	leaked, err := unix.Dup(int(os.Stderr.Fd())) // without close-on-exec
	require.NoError(t, err)
	defer unix.Close(leaked)
	path := filepath.Join(t.TempDir(), "log")
	log, err := os.Create(path)
	require.NoError(t, err)
	d, err := StartDetached(Command{Path: "sh", Args: []string{"-c", `read -r x && echo input; ps -o sid= -p $$; echo $$; ls /proc/self/fd 2>/dev/null | wc -l; echo wrong >&2; exit 3`}, Dir: "/"}, log)
	require.NoError(t, err)
	require.NoError(t, log.Close())
	require.Equal(t, 3, d.Exit().Code)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	words := strings.Fields(string(text))
	require.Len(t, words, 4, string(text))
	require.Equal(t, words[1], words[0], "it leads its session")
	require.Contains(t, []string{"0", "4"}, words[2], "stdin, stdout, stderr and the directory that ls reads")
	require.Equal(t, "wrong", words[3])
}

func TestDetachedThatIsNotThere(t *testing.T) {
	_, err := StartDetached(Command{Path: "/no/such/program"}, os.Stderr)
	require.ErrorIs(t, err, os.ErrNotExist)
}
