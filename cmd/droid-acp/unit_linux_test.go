package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The systemd unit in packaging is valid, and its command line starts a server.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../packaging/serve/droid-acp@.service")
	require.NoError(t, err)
	k := byHand(t)
	line := regexp.MustCompile(`(?m)^ExecStart=%h/\.local/bin/droid-acp serve (.+)$`).FindSubmatch(text)
	require.NotNil(t, line)
	args := strings.ReplaceAll(strings.ReplaceAll(string(line[1]), "%h", k.dir), ":7770", ":0")
	s := k.serve(strings.Fields(args)...)
	found := false
	for !found && s.stderr.Scan() {
		found = strings.Contains(s.stderr.Text(), "clients can connect to ws://127.0.0.1:")
	}
	require.True(t, found)
	s.stop(k)

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not installed")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	program := filepath.Join(k.dir, ".local", "bin", "droid-acp")
	require.NoError(t, os.MkdirAll(filepath.Dir(program), 0o700))
	require.NoError(t, os.Symlink(self, program))
	verify := exec.Command(analyze, "verify", "--user", "../../packaging/serve/droid-acp@.service")
	verify.Env = k.env
	said, err := verify.CombinedOutput()
	require.NoError(t, err, string(said))
	require.Empty(t, string(said))
}
