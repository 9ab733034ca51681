//go:build unix

package projectconfig

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that cannot be read may contain any configuration.
func TestUnreadableFiles(t *testing.T) {
	root := repository(t, map[string]string{".factory/settings.json": `{"hooks":`, ".factory/hooks.json": "[]", ".factory/commands/x.md": "x"})
	factory := filepath.Join(root, ".factory")
	require.NoError(t, syscall.Mkfifo(filepath.Join(factory, "mcp.json"), 0o644))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(factory, "settings.local.json")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(factory, "commands", "zero.md")))
	got := Project(root, "/home/me")
	require.Len(t, got.Of(Unread), 2, lines(got))
	require.Len(t, got.Of(MCPServer), 1)
	require.Len(t, got.Of(Hook), 1)
	require.Len(t, got.Of(Program), 1)
}
