package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/cli/trace"
)

// A trace has both connections, and no secret of the environment, even where droid prints it.
func TestTraceHasBothConnections(t *testing.T) {
	useScripted(t)
	t.Setenv("FACTORY_API_KEY", "fk-TOKEN-SECRET")
	t.Setenv("SOME_PASSWORD", "PASSWORD-SECRET")
	path := filepath.Join(t.TempDir(), "trace")
	t.Setenv("DROID_ACP_TRACE", path)
	got := command("", "smoke", "--cwd", t.TempDir(), "env")
	require.Equal(t, 0, got.code, got.stderr)
	require.Equal(t, 1, strings.Count(got.stderr, "recording all messages in "+path+": prompts, answers and texts of files are in it"), got.stderr)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	text := string(data)
	require.True(t, strings.HasPrefix(text, trace.Mark), text)
	require.NotContains(t, text, "SECRET")
	for _, want := range []string{
		`"peer":"editor","dir":"received","line":{"jsonrpc":"2.0","id":1,"method":"initialize"`, `"peer":"editor","dir":"sent"`, `"note":"started"`,
		`"method":"droid.add_user_message"`, `"type":"assistant_text_delta"`, `FACTORY_API_KEY=[redacted]`, `SOME_PASSWORD=[redacted]`, `"note":"ended"`,
	} {
		require.Contains(t, text, want)
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

func TestTraceIsRefused(t *testing.T) {
	useScripted(t)
	path := filepath.Join(t.TempDir(), "notes")
	require.NoError(t, os.WriteFile(path, []byte("mine\n"), 0o600))
	got := command("", "--trace", path)
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stderr, "the trace (--trace) cannot be written: "+path+" has something else in it; name a new file")
}
