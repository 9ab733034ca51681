package files

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// has requires the files of a directory to be these, by name and content.
func has(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	got := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		got[e.Name()] = string(data)
	}
	require.Equal(t, want, got)
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	require.NoError(t, CheckTarget(path))
	require.NoError(t, Write(path, []byte("one"), 0o600))
	require.NoError(t, CheckTarget(path))
	require.NoError(t, Write(path, []byte("two"), 0o600))
	has(t, dir, map[string]string{"r.json": "two"})
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}

	require.Error(t, CheckTarget(filepath.Join(dir, "no", "r.json")))
	require.ErrorContains(t, CheckTarget(filepath.Join(path, "r.json")), "r.json")
	require.ErrorContains(t, CheckTarget(dir), "is no regular file")
	require.Error(t, Write(dir, []byte("x"), 0o666), "a directory is not replaced")
	err := Write(filepath.Join(dir, "no", "r.json"), nil, 0o666)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NotContains(t, err.Error(), ".partial", "the name that the user knows")
	has(t, dir, map[string]string{"r.json": "two"})
}

// begun is a draft of a file, by a name or without one.
func begun(t *testing.T, path string, nameless bool) *Draft {
	t.Helper()
	if !nameless {
		d, err := NewDraft(path, 0o600)
		require.NoError(t, err)
		return d
	}
	d, err := NewUnnamedDraft(path)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.NoError(t, d.Link(path+".temp"))
	return d
}

// Each end of a draft, of one that is created with a name and of one that gets it later.
func TestDraft(t *testing.T) {
	for _, nameless := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		draft := func(text string) *Draft {
			d := begun(t, path, nameless)
			_, err := d.WriteString(text)
			require.NoError(t, err)
			return d
		}
		d, then := draft("one"), time.Unix(1700000000, 0)
		d.ModTime = then
		require.NoError(t, d.Replace(nil))
		d.Discard()
		has(t, dir, map[string]string{"f": "one"})
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.True(t, info.ModTime().Equal(then))

		refused := errors.New("refused")
		d = draft("two")
		require.ErrorIs(t, d.Replace(func() error { return refused }), refused)
		d.Discard()
		d = draft("three")
		require.ErrorIs(t, d.Create(), os.ErrExist)
		d.Discard()
		d = draft("four")
		d.Discard()
		has(t, dir, map[string]string{"f": "one"})

		if runtime.GOOS != "windows" { // nothing that is open is renamed there
			d = draft("five")
			require.NoError(t, d.Rename())
			_, err = d.WriteString(" more")
			require.NoError(t, err)
			d.Discard()
			has(t, dir, map[string]string{"f": "five more"})
		}
		require.NoError(t, os.Remove(path))
		d = draft("six")
		require.NoError(t, d.Create())
		d.Discard()
		has(t, dir, map[string]string{"f": "six"})
	}
}

// A name that the file system gives by no link is given by a rename, and nobody's is taken.
func TestCreateWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, want := range []error{nil, os.ErrExist} {
		d := begun(t, path, false)
		require.NoError(t, d.finish())
		require.ErrorIs(t, d.createByRename(), want)
		d.Discard()
	}
	has(t, dir, map[string]string{"f": ""})
}

// A nameless draft leaves nothing, whenever its program ends.
func TestUnnamedDraft(t *testing.T) {
	dir := t.TempDir()
	d, err := NewUnnamedDraft(filepath.Join(dir, "f"))
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	_, err = d.WriteString("text")
	require.NoError(t, err)
	has(t, dir, map[string]string{})
	d.Discard()
	has(t, dir, map[string]string{})
}
