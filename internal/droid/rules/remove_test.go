package rules

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/sys/files"
)

// write writes a file below a directory and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func ruleOf(t *testing.T, home, text string) Rule {
	t.Helper()
	rules, err := Read(filepath.Join(home, "work"), home, "")
	require.NoError(t, err)
	for _, r := range rules {
		if r.Text == text && r.Kind != Denied {
			return r
		}
	}
	require.Fail(t, "no rule "+text)
	return Rule{}
}

// Everything but the entry is unchanged: comments, order, white space, numbers, unknown keys.
func TestRemove(t *testing.T) {
	for name, tc := range map[string]struct{ file, text, before, after string }{
		"one of several": {"settings.json", "git push", `{
  // mine
  "big": 12345678901234567890, "commandAllowlist": [
    "make", // the build
    "git push",
    "touch"
  ],
  "commandDenylist": ["git push"]
}
`, `{
  // mine
  "big": 12345678901234567890, "commandAllowlist": [
    "make", // the build
    "touch"
  ],
  "commandDenylist": ["git push"]
}
`},
		"the last":  {"settings.json", "touch", "{\"commandAllowlist\": [\n  \"make\", // the build\n  \"touch\"\n]}", "{\"commandAllowlist\": [\n  \"make\" // the build\n]}"},
		"the only":  {"settings.json", "touch", `{"commandAllowlist":["touch"]}`, `{"commandAllowlist":[]}`},
		"in a line": {"settings.json", "b", `{"commandAllowlist": ["a", "b", "c"]}`, `{"commandAllowlist": ["a", "c"]}`},
		"twice":     {"settings.json", "b", `{"commandAllowlist": ["b", "a", "b"]}`, `{"commandAllowlist": ["a"]}`},
		"escaped":   {"settings.json", "echo \"ä\"", `{"commandAllowlist": ["echo \"\u00e4\"", "a, b"]}`, `{"commandAllowlist": ["a, b"]}`},
		"a tool": {"mcp.json", "tiny: t", `{"mcpServers":{},"persistentPermissions":{"tools":{"tiny":{"s":{},"t":{"approvedAt":"…","impactLevel":"high"}}}}}`,
			`{"mcpServers":{},"persistentPermissions":{"tools":{"tiny":{"s":{}}}}}`},
		"a server": {"mcp.json", "tiny: all tools", `{"persistentPermissions":{"servers":{"tiny":{"approvedAt":"…"}, "other":{}}}}`, `{"persistentPermissions":{"servers":{"other":{}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := write(t, home, ".factory/"+tc.file, tc.before)
			r := ruleOf(t, home, tc.text)
			require.NoError(t, Remove(t.Context(), files.Locks{}, r))
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, tc.after, string(after))
			require.NoError(t, Remove(t.Context(), files.Locks{}, r), "it is gone already")
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing is left beside it")
		})
	}
}

// A link to the file stays one, and the file keeps its mode.
func TestRemoveBehindALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has other modes, and links for few")
	}
	home, dotfiles := t.TempDir(), t.TempDir()
	path := write(t, dotfiles, "settings.json", `{"commandAllowlist":["touch"]}`)
	require.NoError(t, os.Chmod(path, 0o640))
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".factory"), 0o755))
	require.NoError(t, os.Symlink(path, filepath.Join(home, ".factory", "settings.json")))
	require.NoError(t, Remove(t.Context(), files.Locks{}, ruleOf(t, home, "touch")))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, `{"commandAllowlist":[]}`, string(after))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
}

// A rule that is not the user's own permission is not removed, and one that cannot be distinguished from the rest stays.
func TestRemoveRefuses(t *testing.T) {
	home := t.TempDir()
	mine := write(t, home, ".factory/mcp.json", `{"persistentPermissions":{"servers":{"twice":{},"twice":{}}}}`)
	write(t, home, ".factory/settings.json", `{"commandDenylist":["curl"]}`)
	project := write(t, home, "work/.factory/settings.json", `{"commandAllowlist":["project"]}`)
	local := write(t, home, "work/.factory/settings.local.json", `{"commandAllowlist":["local"],"commandBlocklist":["b"]}`)
	rules, err := Read(filepath.Join(home, "work"), home, "")
	require.NoError(t, err)
	before, ruleMCP := map[string]string{}, Rule{}
	for _, path := range []string{mine, project, local} {
		text, _ := os.ReadFile(path)
		before[path] = string(text)
	}
	for _, r := range rules {
		switch r.Text {
		case "twice: all tools":
			ruleMCP = r
			require.ErrorContains(t, Remove(t.Context(), files.Locks{}, r), "by hand", r.Text)
		default:
			require.ErrorIs(t, Remove(t.Context(), files.Locks{}, r), ErrNotRemovable, r.Text)
		}
	}
	for path, text := range before {
		now, _ := os.ReadFile(path)
		require.Equal(t, text, string(now), path)
	}
	require.NoError(t, os.WriteFile(mine, []byte(strings.Repeat("[", 10)), 0o600))
	require.ErrorContains(t, Remove(t.Context(), files.Locks{}, ruleMCP), "no JSON")
}

// A file in the place of a project's .factory has no rules.
func TestReadWithoutADirectory(t *testing.T) {
	home := t.TempDir()
	write(t, home, "work/.factory", "x")
	rules, unread := Read(filepath.Join(home, "work"), home, "")
	require.NoError(t, unread)
	require.Empty(t, rules)
}

// A list in settings.local.json replaces the one in settings.json of its directory, even if it is empty (0.99 to 0.225).
func TestReadLocalSettings(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{".factory", "work/.factory"} {
		write(t, home, dir+"/settings.json", `{"commandAllowlist":["a"],"commandDenylist":["d"],"commandBlocklist":["b"]}`)
		write(t, home, dir+"/settings.local.json", `{"commandAllowlist":["local"],"commandDenylist":[],"x":1}`)
	}
	rules, unread := Read(filepath.Join(home, "work"), home, "")
	require.NoError(t, unread)
	var texts []string
	for _, r := range rules {
		texts = append(texts, r.Text)
	}
	require.Equal(t, []string{"local", "b", "local", "b"}, texts)
}
