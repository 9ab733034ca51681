//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/cli/flags"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/acptest"
	"droid-acp/internal/testing/fakelogin"
)

// loginDroid is a droid that logs in by the script. The environment has it, and a browser in its PATH.
func loginDroid(t *testing.T, script string) (path string) {
	t.Helper()
	path, env := loginEnv(t, script)
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	return path
}

// loginEnv is loginDroid for a process that gets the environment.
func loginEnv(t *testing.T, script string) (path string, env []string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	for name, text := range map[string]string{"droid": "exec " + self + ` "$@"`, "xdg-open": "exit 0"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	}
	return filepath.Join(dir, "droid"), []string{"HOME=" + dir, "PATH=" + dir + ":" + os.Getenv("PATH"), envLogin + "=" + script}
}

func TestLogin(t *testing.T) {
	for script, tc := range map[string]struct {
		code           int
		stdout, stderr string
	}{
		"succeeds": {exitOK, "droid says that it is logged in.", ""},
		"nonsense": {exitOK, "droid says that it is logged in.", ""},
		"asks":     {exitOK, fakelogin.Address + "\n  Log in with the code ABCD-EFGH.", ""},
		"tells":    {exitOK, "userCode: ABCD-EFGH", ""},
		"refused":  {exitFailed, "", "Device authentication failed: Authorization failed or expired. Check the network"},
		"dies":     {exitFailed, "", "exit status 3"},
	} {
		t.Run(script, func(t *testing.T) {
			got := command("", "login", "--droid", loginDroid(t, script))
			require.Equal(t, tc.code, got.code, got.stderr)
			require.Contains(t, got.stdout, tc.stdout)
			require.Contains(t, got.stderr, tc.stderr)
			require.Equal(t, tc.code == exitOK, strings.Contains(got.stdout, "is logged in"), "a success that was not seen")
		})
	}
}

// Output to a terminal neither controls it nor hides anything, whatever droid sends.
func TestLoginIsSafeToShow(t *testing.T) {
	for script, code := range map[string]int{"hostile": exitOK, "hostile refusal": exitFailed, "hostile death": exitFailed} {
		got := command("", "login", "--droid", loginDroid(t, script))
		require.Equal(t, code, got.code, got.stderr)
		require.Contains(t, got.stdout+got.stderr, `\x1b[2K`)
		require.NoError(t, acptest.CheckSafe(got.stdout, true))
		require.NoError(t, acptest.CheckSafe(got.stderr, true))
	}
}

// Clients put the word or the flag behind the arguments of the agent, or in their place.
func TestLoginArguments(t *testing.T) {
	path := loginDroid(t, "succeeds")
	for _, args := range []string{"login", "--login", "acp --login", "acp login", "--model x acp --login", "--login acp", "--shell login", "--log-level error login --mode spec"} {
		got := command("", append([]string{"--droid", path}, strings.Fields(args)...)...)
		require.Equal(t, exitOK, got.code, args+got.stderr)
		require.Contains(t, got.stdout, "is logged in", args)
	}
	for args, code := range map[string]int{"--model login": exitOK, "login dance": exitUsage, "login --no-such-flag": exitUsage, "dance": exitUsage} {
		got := command("", strings.Fields(args)...)
		require.Equal(t, code, got.code, args)
		require.Empty(t, got.stdout, args)
	}
}

func TestLoginWithoutDroid(t *testing.T) {
	withoutDroid(t)
	got := command("", "login")
	require.Equal(t, exitFailed, got.code)
	require.Empty(t, got.stdout)
	require.Contains(t, got.stderr, "droid not found")
	require.Contains(t, got.stderr, "Install Factory's droid with `")
}

// pendingLogin is the program, which waits for a user to log in. end ends it by a signal.
func pendingLogin(t *testing.T, path string, env ...string) (cmd *exec.Cmd, stderr *strings.Builder, end func(os.Signal)) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd, stderr = exec.Command(self, "login", "--droid", path), new(strings.Builder)
	cmd.Env, cmd.Stderr = append(env, envProgram+"=1", "GORACE=atexit_sleep_ms=0"), stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines, seen := bufio.NewScanner(stdout), false
	for !seen && lines.Scan() {
		seen = strings.TrimSpace(lines.Text()) == fakelogin.Address
	}
	require.True(t, seen, "where to log in")
	return cmd, stderr, func(signal os.Signal) {
		require.NoError(t, cmd.Process.Signal(signal))
		_, _ = io.Copy(io.Discard, stdout)
		require.Error(t, cmd.Wait())
	}
}

// A login that is killed leaves no directory.
func TestLoginIsKilled(t *testing.T) {
	t.Parallel()
	path, env := loginEnv(t, "pending")
	tmp := t.TempDir()
	env = append(env, "TMPDIR="+tmp)
	directories := func() int {
		left, err := filepath.Glob(filepath.Join(tmp, "*"))
		require.NoError(t, err)
		return len(left)
	}
	_, _, endFirst := pendingLogin(t, path, env...)
	require.Equal(t, 2, directories(), "for its links, and the one that droid is in")
	_, _, endSecond := pendingLogin(t, path, env...)
	require.Equal(t, 4, directories(), "the first goes on")
	endFirst(os.Kill)
	require.Eventually(t, func() bool { return directories() == 2 }, patience, 10*time.Millisecond)
	endSecond(os.Kill)
	require.Eventually(t, func() bool { return directories() == 0 }, patience, 10*time.Millisecond)
}

// Ctrl-C ends a login that waits for the user, and droid with it.
func TestLoginIsInterrupted(t *testing.T) {
	t.Parallel()
	path, env := loginEnv(t, "pending")
	cmd, stderr, end := pendingLogin(t, path, env...)
	end(os.Interrupt)
	require.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
	require.Contains(t, stderr.String(), "ended before droid had logged in")
}

// The command that clients run in a terminal finds the same droid.
func TestLoginCommand(t *testing.T) {
	t.Setenv(droid.EnvDroid, "/opt/droid")
	dir, err := os.Getwd() // with t.Chdir Go would cache no result of this package
	require.NoError(t, err)
	for given, want := range map[string][]string{
		"":        {"login"},
		"mydroid": {"login", "--droid", "mydroid"},
		"./droid": {"login", "--droid", filepath.Join(dir, "droid")},
	} {
		command := callWith(t, flags.Droid, given).clientsLogin()
		require.Equal(t, want, command.Args)
		require.True(t, filepath.IsAbs(command.Path))
		require.Equal(t, map[string]string{droid.EnvDroid: "/opt/droid"}, command.Env)
	}
}
