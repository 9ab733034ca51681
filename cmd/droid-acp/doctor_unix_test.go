//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A doctor that is ended, also twice and with a droid that obeys nothing, leaves neither
// a process nor a directory.
func TestDoctorIsEnded(t *testing.T) {
	const version = `[ "$1" = --version ] && { echo 0.225.2; exit; }; `
	for name, tc := range map[string]struct {
		droid string
		end   func(*agentProcess)
	}{
		"once, mute":    {"echo up > up; sleep 900 & echo $! >> pids; wait", func(a *agentProcess) { _ = a.cmd.Process.Signal(os.Interrupt) }},
		"once, wedged":  {"echo up > up; trap '' TERM INT HUP; while :; do sleep 0.1; done", func(a *agentProcess) { _ = a.cmd.Process.Signal(syscall.SIGTERM) }},
		"twice, wedged": {"echo up > up; trap '' TERM INT HUP; while :; do sleep 0.1; done", func(a *agentProcess) { twice(a, os.Interrupt.(syscall.Signal)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			a := startAgent(t, version+tc.droid, []string{"TMPDIR=" + tmp}, "doctor")
			a.awaitFile("up")
			tc.end(a)
			_, _ = io.ReadAll(a.stderr) // to its end
			a.awaitEnd()
			require.Equal(t, exitFailed, a.cmd.ProcessState.ExitCode())
			a.requireGone("pids")
			left, err := filepath.Glob(filepath.Join(tmp, "droid-acp-*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// Files left by a killed doctor are removed by the next one.
func TestDoctorIsKilled(t *testing.T) {
	t.Parallel()
	const mute = `[ "$1" = --version ] && { echo 0.225.2; exit; }; echo up > up; wait; sleep 900`
	tmp := t.TempDir()
	for _, tc := range []struct {
		end  os.Signal
		left int
	}{{os.Kill, 2}, {os.Interrupt, 0}} {
		a := startAgent(t, mute, []string{"TMPDIR=" + tmp}, "doctor")
		a.awaitFile("up")
		require.NoError(t, a.cmd.Process.Signal(tc.end))
		_, _ = io.ReadAll(a.stderr) // to its end
		a.awaitEnd()
		left, err := filepath.Glob(filepath.Join(tmp, "droid-acp-*"))
		require.NoError(t, err)
		require.Len(t, left, tc.left)
	}
}
