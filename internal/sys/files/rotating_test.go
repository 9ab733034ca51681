package files

import (
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
