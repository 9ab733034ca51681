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

// An opener that droid starts after the watch has ended does not wait for a reader.
func TestOpenerThatNobodyHears(t *testing.T) {
	dir := t.TempDir()
	pipe, script := filepath.Join(dir, "links"), filepath.Join(dir, "stand-in")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\nprintf %s \"$*\"\n"), 0o700))
	require.NoError(t, os.WriteFile(script, []byte(openerScript("xdg-open", pipe, dir+":"+os.Getenv("PATH"))), 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, script, "https://example.invalid/x").Output()
	require.NoError(t, err)
	require.Equal(t, "https://example.invalid/x", string(text), "the address is opened all the same")
}
