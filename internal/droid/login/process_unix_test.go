//go:build unix

package login_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid/login"
	"droid-acp/internal/testing/fakelogin"
)

// program is a droid that is a process, with a script of this name, and a browser that writes the addresses that it should open into the
// pipe opened. Its stderr gets a line.
func program(t *testing.T, script string) (start login.Start, opened string) {
	t.Helper()
	dir := t.TempDir()
	opened = filepath.Join(dir, "opened by xdg-open")
	require.NoError(t, syscall.Mkfifo(opened, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\nprintf '%s' \"$*\" >'"+opened+"'\n"), 0o700))
	self, err := os.Executable()
	require.NoError(t, err)
	droid := filepath.Join(dir, "droid")
	require.NoError(t, os.WriteFile(droid, []byte("#!/bin/sh\necho the last words >&2\n[ \"$*\" = 'exec --output-format acp' ] || exit 9\nexec "+self+"\n"), 0o700))
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp's"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tmp's"), 0o700))
	command := login.Command{Path: droid, Env: []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0", envScript + "=" + script}}
	t.Cleanup(func() {
		_, err := syscall.Open(opened, syscall.O_RDWR, 0) // while the tests run: a browser without a reader ends, also a late one
		require.NoError(t, err)
		left, err := os.ReadDir(filepath.Join(dir, "tmp's"))
		require.NoError(t, err)
		require.Empty(t, left, "the scripts are gone")
	})
	return func() (*login.Process, error) { return command.Start(zap.NewNop()) }, opened
}

// The address that a real process opens with xdg-open is reported, and xdg-open runs.
func TestProcessReportsItsLink(t *testing.T) {
	start, opened := program(t, "pending")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	defer time.AfterFunc(20*time.Second, func() { cancel(nil) }).Stop()
	_, err := login.Do(ctx, start, login.Pairing, login.Listener{Link: func(address string) {
		require.Equal(t, fakelogin.Address, address)
		cancel(login.ErrDeclined)
	}}, zap.NewNop())
	require.ErrorIs(t, err, login.ErrDeclined)
	text, err := os.ReadFile(opened) // when the browser opens it, which outlives droid
	require.NoError(t, err)
	require.Equal(t, fakelogin.Address, string(text))
}

func TestProcessOutcomes(t *testing.T) {
	start, _ := program(t, "nonsense")
	result, err := login.Do(t.Context(), start, login.Pairing, login.Listener{}, zap.NewNop())
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(result))

	start, _ = program(t, "dies")
	_, err = login.Do(t.Context(), start, login.Pairing, login.Listener{Link: func(string) {}}, zap.NewNop())
	var died *login.DiedError
	require.ErrorAs(t, err, &died)
	require.Equal(t, login.DiedError{State: "exit status 3", Stderr: []string{"the last words"}}, *died)
}

func TestNoProcess(t *testing.T) {
	command := login.Command{Path: filepath.Join(t.TempDir(), "none")}
	_, err := login.Do(t.Context(), func() (*login.Process, error) { return command.Start(zap.NewNop()) }, login.Pairing, login.Listener{}, zap.NewNop())
	require.ErrorIs(t, err, os.ErrNotExist)
}
