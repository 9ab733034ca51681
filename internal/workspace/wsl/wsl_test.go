package wsl

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestIsWindows(t *testing.T) {
	for path, want := range map[string]bool{
		`C:\Users\x`: true, `c:/x`: true, `\\wsl$\Ubuntu\home`: true, `\\wsl.localhost\Ubuntu`: true,
		"/mnt/c/x": false, "x": false, "": false, "C:": false, "C:x": false, `1:\x`: false, `\x`: false, "~/x": false,
	} {
		require.Equal(t, want, isWindows(path), path)
	}
}

// wslpath puts a wslpath with this script before all other programs, or none.
func wslpath(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("wslpath is a program of Linux")
	}
	dir := t.TempDir()
	if script != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+"/bin"+string(os.PathListSeparator)+"/usr/bin")
	if script == "" {
		if _, err := exec.LookPath(program); err == nil {
			t.Skip("this is WSL")
		}
	}
}

func TestLocalPath(t *testing.T) {
	wslpath(t, `printf '/mnt/%s\n' "$1" "$2" | tail -n 1`)
	for path, want := range map[string]string{
		"/w": "/w", "relative": "relative", "": "", "/mnt/c/x": "/mnt/c/x",
		`C:\a b\$(touch x);'"`: `/mnt/C:\a b\$(touch x);'"`,
		`\\wsl$\Ubuntu\home`:   `/mnt/\\wsl$\Ubuntu\home`,
	} {
		got, err := LocalPath(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestLocalPathRefuses(t *testing.T) {
	for script, want := range map[string]string{
		"":                                       "is a path of Windows, and this agent runs on " + runtime.GOOS + ". Run droid-acp on Windows, where the project is, or open the project by its path here",
		"echo wslpath: no such path >&2; exit 1": "is a path of Windows, which wslpath did not translate: wslpath: no such path. Open the project by its path in WSL, like /mnt/c/project",
		"exit 3":                                 "is a path of Windows, which wslpath did not translate: exit status 3. Open",
		"exit 0":                                 "did not translate: it gave no path. Open",
		"echo C:/x":                              "did not translate: it gave no path. Open",
		`printf '/a\n/b\n'`:                      "did not translate: it gave no path. Open",
	} {
		t.Run(script, func(t *testing.T) {
			wslpath(t, script)
			_, err := LocalPath(t.Context(), `C:\x`)
			require.ErrorContains(t, err, want)
		})
	}
}

// A wslpath that hangs, as it does when Windows does not answer, is given up.
func TestLocalPathGivesUp(t *testing.T) {
	wslpath(t, "sleep 1000")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := LocalPath(ctx, `C:\x`)
	require.ErrorContains(t, err, "did not translate: context deadline exceeded")
}
