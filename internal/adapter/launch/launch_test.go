package launch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

type noHooks struct{}

func (noHooks) Hooks() []droid.Hook { return nil }

// MCP servers that a process cannot be given are not lost: the session is opened
// in another one.
func TestServersThatAProcessDoesNotGet(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the settings are a file that can be written at any time")
	}
	program := filepath.Join(t.TempDir(), "droid")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755))
	client, err := droid.Start(droid.Command{Path: program, Dir: t.TempDir(), Runtime: true}, zap.NewNop())
	require.NoError(t, err)
	servers := []stream.MCPServer{{Name: "files", Command: "files"}}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // this one never tells its version
	defer cancel()
	launcher := New(t.Context(), new(Config), files.NewCallLimiter(16, time.Minute), noHooks{}, zap.NewNop())
	others, err := launcher.setRuntime(ctx, client, droid.Runtime{MCPServers: servers})
	require.NoError(t, err)
	require.Empty(t, others, "it has them")
	client.Kill()
	<-client.Exited()
	_, err = launcher.setRuntime(ctx, client, droid.Runtime{MCPServers: servers})
	require.ErrorIs(t, err, errServers)
	require.True(t, cannotTake(err))
	require.True(t, cannotTake(&droid.ExitError{}))
	require.False(t, cannotTake(&droid.ExitError{Started: true}))
	require.False(t, cannotTake(errors.New("droid refused")))
	require.False(t, cannotTake(nil))
}
