package droid

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	program := func(dir string) string {
		path := filepath.Join(dir, "droid"+suffix)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o755))
		return path
	}
	home, inPath := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("PATH", inPath)
	t.Setenv(EnvDroid, "")
	notFound := func(explicit string) *NotFoundError {
		t.Helper()
		_, err := Find(explicit)
		var e *NotFoundError
		require.ErrorAs(t, err, &e)
		return e
	}
	found := func(explicit string) string {
		t.Helper()
		path, err := Find(explicit)
		require.NoError(t, err)
		return path
	}

	local := filepath.Join(home, ".local", "bin")
	e := notFound("")
	require.Len(t, e.Searched, 2)
	require.ErrorContains(t, e, "droid not found: droid (by its name) is not in PATH; ")
	require.ErrorContains(t, e, filepath.Join(local, "droid"+suffix)+" (the usual place) is not there")

	require.Equal(t, program(local), found(""))
	require.Equal(t, program(inPath), found(""), "PATH comes first")
	other := program(t.TempDir())
	require.Equal(t, other, found(other))
	t.Setenv(EnvDroid, other)
	require.Equal(t, other, found(""))
	require.Equal(t, filepath.Join(inPath, "droid"+suffix), found("droid"), "the flag wins, and may be a name")

	// A named program must exist.
	t.Setenv(EnvDroid, filepath.Join(home, "none"))
	e = notFound("")
	require.Len(t, e.Searched, 1)
	require.Equal(t, "$"+EnvDroid, e.Searched[0].Name)
	e = notFound(filepath.Join(home, "none2"))
	require.Equal(t, "--droid", e.Searched[0].Name)
	if runtime.GOOS != "windows" {
		plain := filepath.Join(home, "plain")
		require.NoError(t, os.WriteFile(plain, nil, 0o600))
		require.ErrorIs(t, notFound(plain).Searched[0].Err, os.ErrPermission)
	}

	// A relative path is made absolute: droid is started in another directory.
	here, err := os.Getwd()
	require.NoError(t, err)
	relative, err := filepath.Rel(here, other)
	if err != nil {
		t.Skip(err) // on another drive of Windows
	}
	require.Equal(t, other, found(relative))
}
