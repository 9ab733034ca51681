//go:build unix

package main

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wedged is a droid that obeys neither the end of its input nor a signal.
const wedged = `trap '' TERM INT HUP; $DROID; while :; do sleep 0.1; done`

// Each of these signals ends the program in order; droid is ended gracefully, not killed.
func TestSignalsEndPolitely(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			a := startAgent(t, "$DROID \"$@\"; echo $? > code; exit", nil)
			a.begin()
			a.prompt("hello")
			a.awaitText("session/request_permission")
			require.NoError(t, a.cmd.Process.Signal(signal))
			require.Contains(t, string(a.response(3).Result), `"cancelled"`)
			a.awaitEnd()
			require.Equal(t, exitOK, a.cmd.ProcessState.ExitCode())
			require.Equal(t, []string{"0"}, a.awaitFile("code"), "droid ended by itself")
		})
	}
}

// A second signal ends the program at once, and droid with it.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			a := startAgent(t, wedged, nil)
			a.begin()
			require.NoError(t, a.cmd.Process.Signal(syscall.SIGTERM))
			twice(a, signal)
			a.awaitEnd()
			require.Equal(t, exitFailed, a.cmd.ProcessState.ExitCode(), "an end in order has another code")
			a.requireGone("pids")
		})
	}
}

// A program that was started so as to ignore hangups (nohup) or interrupts (a job in
// the background of a script) is not ended by them.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	t.Parallel()
	a := startUnder(t, []string{"sh", "-c", `trap '' HUP INT; exec "$0" "$@"`}, "", nil)
	a.begin()
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		require.NoError(t, a.cmd.Process.Signal(signal))
	}
	a.prompt("hello")
	a.awaitText("session/request_permission")
	require.NoError(t, a.cmd.Process.Signal(syscall.SIGTERM))
	a.awaitEnd()
}

// An editor that closes its end of stdout and keeps stdin open ends the turn and
// the program, also while there is nothing to write.
func TestEditorClosesStdoutAlone(t *testing.T) {
	t.Run("while it is written", func(t *testing.T) {
		t.Parallel()
		a := startAgent(t, "", nil)
		a.begin()
		require.NoError(t, a.stdout.Close())
		a.prompt("hello")
		a.awaitEnd()
		a.requireGone("pids")
	})
	t.Run("while a command is silent", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("shown on Linux alone")
		}
		t.Parallel()
		a := startAgent(t, "", nil, "--shell")
		a.begin()
		a.prompt("!echo be''gun; sleep 900")
		a.awaitText("begun")
		require.NoError(t, a.stdout.Close())
		a.awaitEnd()
		a.requireGone("pids")
	})
}

// A command of the user's ends with the program also when that is killed: the
// shell and what it started, in the foreground or not.
func TestShellCommandDiesWithTheProgram(t *testing.T) {
	for name, end := range map[string]func(*agentProcess){
		"SIGKILL":        func(a *agentProcess) { _ = a.cmd.Process.Kill() },
		"two signals":    func(a *agentProcess) { twice(a, syscall.SIGTERM) },
		"SIGHUP":         func(a *agentProcess) { _ = a.cmd.Process.Signal(syscall.SIGHUP) },
		"the end of all": func(a *agentProcess) { _ = a.stdin.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startAgent(t, "", nil, "--shell")
			a.begin()
			a.prompt("!trap '' TERM HUP; echo $$ > shell; (sleep 900; :) & echo $! >> shell; sleep 900 & echo $! >> shell; echo be''gun; wait; wait")
			a.awaitText("begun")
			end(a)
			a.awaitEnd()
			require.Len(t, a.awaitFile("shell"), 3)
			a.requireGone("shell")
		})
	}
}

// twice sends a signal until the program, which has got two then, ends: two of a kind are one while the first waits.
func twice(a *agentProcess, signal syscall.Signal) {
	for until := time.Now().Add(patience); time.Now().Before(until); {
		_ = a.cmd.Process.Signal(signal) // it may have ended
		select {
		case <-a.exited:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Output into a pipe without a reader ends the writer.
func TestShellPipesEnd(t *testing.T) {
	t.Parallel()
	a := startAgent(t, "", nil, "--shell")
	a.begin()
	a.prompt("!while :; do echo x; done | head -n 1")
	require.Contains(t, string(a.response(3).Result), "end_turn")
}
