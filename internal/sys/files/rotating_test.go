package files

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func rotating(t *testing.T, path string, max int64) (*RotatingFile, error) {
	r, err := OpenRotating(path, "{\"mark\"", max, func() []byte { return []byte("{\"mark\":1}\n") })
	if err == nil {
		t.Cleanup(func() { _ = r.Close() })
	}
	return r, err
}

func TestRotatingFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	one, err := rotating(t, path, 40)
	require.NoError(t, err)
	two, err := rotating(t, path, 40) // as another process
	require.NoError(t, err)
	for range 3 {
		_, err = one.Write([]byte("0123456789\n"))
		require.NoError(t, err)
		_, err = two.Write([]byte("abcdefghi\n"))
		require.NoError(t, err)
	}
	for _, name := range []string{path, path + OlderSuffix} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), 40, name)
		require.True(t, strings.HasPrefix(string(text), "{\"mark\":1}\n"), name)
		info, err := os.Stat(name)
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		}
	}
	names, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Len(t, names, 2)
}

// Processes that append to one file in turn lose no line but those that rotation drops, however long one of them has been idle, and keep
// the order.
func TestRotatingFileOfSeveralProcesses(t *testing.T) {
	const head = "{\"mark\":1}\n"
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		path := filepath.Join(t.TempDir(), "trace")
		var all []*RotatingFile
		for range 3 {
			r, err := rotating(t, path, 100)
			require.NoError(t, err)
			all = append(all, r)
		}
		var written strings.Builder
		for i := range 60 {
			if i == 40 {
				require.NoError(t, all[0].Close()) // it starts again
				all[0], _ = rotating(t, path, 100)
			}
			line := fmt.Sprintf("%d %*d\n", i, random.IntN(30), i)
			written.WriteString(line)
			_, err := all[random.IntN(1+i%3)].Write([]byte(line)) // the last ones write less
			require.NoError(t, err)
		}
		older, err := os.ReadFile(path + OlderSuffix)
		require.NoError(t, err)
		newer, err := os.ReadFile(path)
		require.NoError(t, err)
		require.LessOrEqual(t, max(len(older), len(newer)), 100+len(all)*len(head))
		kept := strings.ReplaceAll(string(older)+string(newer), head, "")
		require.NotEmpty(t, kept)
		require.True(t, strings.HasSuffix(written.String(), kept), "%s\n%s", older, newer)
	}
}

// A file that its user removes while it is written is made again.
func TestRotatingFileIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	r, err := rotating(t, path, 1000)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	_, err = r.Write([]byte("a\n"))
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "{\"mark\":1}\na\n", string(text))
}

func TestRotatingFileIsContinued(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	for range 2 {
		r, err := rotating(t, path, 1000)
		require.NoError(t, err)
		_, err = r.Write([]byte("a\n"))
		require.NoError(t, err)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "{\"mark\":1}\na\n{\"mark\":1}\na\n", string(text))
}

// A file that is not of its kind stays as it is.
func TestRotatingFileRefuses(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(path("notes"), []byte("words\n"), 0o600))
	require.NoError(t, os.WriteFile(path("open"), []byte("{\"mark\":1}\n"), 0o644))
	for name, want := range map[string]string{"notes": "something else in it", "link": "no regular file", "open": "others may read", "missing/x": "no such file", "": "no regular file"} {
		if runtime.GOOS == "windows" && name != "notes" {
			continue
		}
		if name == "link" {
			require.NoError(t, os.Symlink(path("notes"), path("link")))
		}
		_, err := rotating(t, path(name), 1000)
		require.ErrorContains(t, err, want, name)
	}
	text, err := os.ReadFile(path("notes"))
	require.NoError(t, err)
	require.Equal(t, "words\n", string(text))
}
