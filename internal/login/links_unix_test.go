//go:build unix

package login

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOpenerEndsWhenNobodyHears: the stand-in for the opener goes on to the real one also
// when the login has ended meanwhile.
func TestOpenerEndsWhenNobodyHears(t *testing.T) {
	dir := t.TempDir()
	pipe, script := filepath.Join(dir, "links"), filepath.Join(dir, "stand-in")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho opened\n"), 0o700))
	require.NoError(t, os.WriteFile(script, []byte(openerScript("xdg-open", pipe, dir+":"+os.Getenv("PATH"))), 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, script, "https://login.example.invalid").Output()
	require.NoError(t, err)
	require.Equal(t, "opened\n", string(out))
}
