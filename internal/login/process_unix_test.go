//go:build unix

package login_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/fakelogin"
	"droid-acp/internal/login"
)

// program is a droid that is a process, with a script of this name, and a browser that
// writes what it is to open into the pipe opened. Its stderr gets a line.
func program(t *testing.T, script string) (d *login.Desk, opened string) {
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
	d = login.New(func() (*login.Process, error) { return command.Start(zap.NewNop()) }, func(string) {}, zap.NewNop())
	t.Cleanup(func() {
		d.Close()
		left, err := os.ReadDir(filepath.Join(dir, "tmp's"))
		require.NoError(t, err)
		require.Empty(t, left, "the scripts are gone")
	})
	return d, opened
}

// The address that a real process opens by xdg-open is told, and xdg-open runs.
func TestProcessTellsItsLink(t *testing.T) {
	d, opened := program(t, "pending")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := d.Login(ctx, login.Pairing, login.Listener{Link: func(_ context.Context, address string) bool {
		require.Equal(t, fakelogin.Address, address)
		return false
	}})
	require.ErrorIs(t, err, login.ErrDeclined)
	d.Close()
	text, err := os.ReadFile(opened) // when the browser opens it, which outlives droid
	require.NoError(t, err)
	require.Equal(t, fakelogin.Address, string(text))
}

func TestProcessOutcomes(t *testing.T) {
	d, _ := program(t, "nonsense")
	result, err := d.Login(t.Context(), login.Pairing, login.Listener{})
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(result))

	d, _ = program(t, "dies")
	_, err = d.Login(t.Context(), login.Pairing, login.Listener{Link: func(context.Context, string) bool { return true }})
	var died *login.DiedError
	require.ErrorAs(t, err, &died)
	require.Equal(t, login.DiedError{State: "exit status 3", Stderr: []string{"the last words"}, Started: true}, *died)
}

func TestProcessThatIsNone(t *testing.T) {
	command := login.Command{Path: filepath.Join(t.TempDir(), "none")}
	d := login.New(func() (*login.Process, error) { return command.Start(zap.NewNop()) }, func(string) {}, zap.NewNop())
	defer d.Close()
	_, err := d.Login(t.Context(), login.Pairing, login.Listener{Ask: func(context.Context, string, json.RawMessage) (json.RawMessage, *login.Error) { return nil, nil }})
	require.ErrorIs(t, err, os.ErrNotExist)
}
