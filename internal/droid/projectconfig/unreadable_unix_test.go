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

// A command that cannot be looked at may be a program; a dangling link is none.
func TestUnreadableCommand(t *testing.T) {
	root := repository(t, map[string]string{".factory/commands/x.md": "x"})
	commands := filepath.Join(root, ".factory", "commands")
	require.NoError(t, os.Symlink("nowhere", filepath.Join(commands, "dangling.md")))
	require.Empty(t, Project(root, "/home/me").Items)
	require.NoError(t, os.Symlink("loop.md", filepath.Join(commands, "loop.md")))
	got := Project(root, "/home/me").Of(Program)
	require.Len(t, got, 1)
	require.True(t, got[0].Unread)
}

// A repository, or a hook of one, that cannot be looked at may be one with programs.
func TestUnreadableRepository(t *testing.T) {
	loop := func(root, name string) {
		require.NoError(t, os.Symlink(filepath.Base(name), filepath.Join(root, name)))
	}
	root := t.TempDir()
	loop(root, ".git")
	require.Len(t, Project(root, "/home/me").Of(Unread), 1)

	root = repository(t, map[string]string{".git/hooks/post-index-change.sample": "", ".git/refs/x": "", ".git/objects/x": ""})
	loop(root, ".git/hooks/post-index-change")
	require.Len(t, Project(root, "/home/me").Of(GitProgram), 1)
}
