package droid

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestInspect(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	resolved, err := filepath.EvalSymlinks(self)
	require.NoError(t, err)
	here := runtime.GOOS + "/" + runtime.GOARCH
	p, err := Inspect(self)
	require.NoError(t, err)
	require.Equal(t, Program{Path: resolved, Systems: []string{here}}, p)
	require.True(t, p.RunsOn(runtime.GOOS, runtime.GOARCH))
	require.False(t, p.RunsOn("plan9", "mips"))

	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/usr/bin/env node\nrest"), 0o755))
	if runtime.GOOS != "windows" {
		link := filepath.Join(dir, "link")
		require.NoError(t, os.Symlink("script", link))
		p, err = Inspect(link)
		require.NoError(t, err)
		require.Equal(t, "script", filepath.Base(p.Path))
		require.Equal(t, "/usr/bin/env node", p.Interpreter)
		require.True(t, p.RunsOn("plan9", "mips"), "a script does not tell")
	}
	odd := filepath.Join(dir, "odd")
	require.NoError(t, os.WriteFile(odd, []byte("odd"), 0o755))
	p, err = Inspect(odd)
	require.NoError(t, err)
	require.Empty(t, p.Systems)
	_, err = Inspect(dir)
	require.ErrorContains(t, err, "no regular file")
	_, err = Inspect(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestProgramRunsByTranslation(t *testing.T) {
	of := func(systems ...string) Program { return Program{Systems: systems} }
	require.True(t, of("darwin/amd64").RunsOn("darwin", "arm64"))
	require.True(t, of("windows/amd64").RunsOn("windows", "arm64"))
	require.False(t, of("linux/amd64").RunsOn("linux", "arm64"))
	require.False(t, of("darwin/arm64").RunsOn("darwin", "amd64"))
	require.True(t, of("darwin/arm64", "darwin/amd64").RunsOn("darwin", "amd64"))
}

func TestRelease(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the droids are shell scripts")
	}
	droid := func(script string) string {
		path := filepath.Join(t.TempDir(), "droid")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
		return path
	}
	ask := func(path string, limit time.Duration) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return Release(ctx, path, nil)
	}
	for script, want := range map[string]string{
		`[ "$1" = --version ] && [ "$` + envAutoUpdate + `" = false ] && echo 0.225.2`: "0.225.2",
		"echo 'a warning first'; echo v1.2.3-beta.1":                                   "1.2.3-beta.1",
	} {
		got, err := ask(droid(script), time.Minute)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := ask(droid("echo hello"), time.Minute)
	require.ErrorContains(t, err, "no version")
	_, err = ask(droid("echo 'no library' >&2; exit 3"), time.Minute)
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.Code)
	require.Equal(t, []string{"no library"}, exit.Stderr)

	_, err = ask(droid("sleep 1000 & wait"), 300*time.Millisecond)
	require.ErrorIs(t, err, context.DeadlineExceeded, "it does not wait for one that hangs")
}
