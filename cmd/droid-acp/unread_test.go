//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who reads only the first lines ("| head") is told nothing. Here nobody reads at all, so
// that it does not depend on who is faster.
func TestReaderThatLeaves(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for args, code := range map[string]int{
		"help": exitOK, "--help": exitOK, "smoke --help": exitOK, "--version": exitOK, "version": exitOK, "man": exitOK,
		"completion bash": exitOK, "trust": exitOK, "doctor": exitFailed, "doctor --json": exitFailed, "smoke --demo": exitFailed,
	} {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, read.Close())
		var stderr bytes.Buffer
		cmd := exec.Command(self, strings.Fields(args)...)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"GORACE=atexit_sleep_ms=0", envProgram + "=1", "HOME=" + cmd.Dir, "PATH=" + cmd.Dir}
		cmd.Stdout, cmd.Stderr = write, &stderr
		_ = cmd.Run() // how it ended is in ProcessState
		require.NoError(t, write.Close())
		require.Empty(t, stderr.String(), args)
		require.Equal(t, code, cmd.ProcessState.ExitCode(), args)
	}
}
