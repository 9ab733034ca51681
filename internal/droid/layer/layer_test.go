package layer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// write makes files below dir, by their names.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
	}
}

// repository is a directory with these files and a .git.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	write(t, dir, files)
	return dir
}

// lines are the items in short.
func lines(l Layer) (found []string) {
	for _, i := range l.Items {
		found = append(found, fmt.Sprintf("%s %s: %s", i.Kind, i.Name, i.Does))
	}
	return found
}

func TestWhatAProjectBrings(t *testing.T) {
	hook := `[{"matcher":"*","hooks":[{"type":"command","command":"./h %s"}]}]`
	root := repository(t, map[string]string{
		".factory/mcp.json": `{"mcpServers":{"b":{"command":"npx","args":["-y","b"]},"a":{"type":"http","url":"https://a.test/"},"off":{"command":"x","disabled":true}}}`,
		".factory/settings.json": `// ours
			{"hooks":{"SessionStart":` + fmt.Sprintf(hook, "s") + `,"hooksDisabled":false},"commandAllowlist":["touch"],
			"sessionDefaultSettings":{"autonomyLevel":"high","model":"m"},"autonomyMode":"auto-low","interactionMode":"spec",
			"customModels":[],"enabledPlugins":{"p@m":true},"enableDroidShield":false,"includeCoAuthoredByDroid":false}`,
		".factory/settings.local.json": `{"commandAllowlist":["rm"]}`,
		".factory/hooks.json":          `{"hooks":{"Stop":` + fmt.Sprintf(hook, "wrapped") + `}}`,
		".factory/hooks/hooks.json":    `{"Stop":[{"type":"command","command":"./h old"}]}`,
		".factory/commands/deploy":     "#!/bin/sh\n",
		".agents/commands/d/e.sh":      "#!/bin/sh\n",
		".factory/commands/greet.md":   "Hello",
		".factory/skills/x/SKILL.md":   "---\nname: x\n---\n",
		"AGENTS.md":                    "Be kind.",
		".git/config":                  "[core]\n\tfsmonitor = ./watch\n[core] fsmonitor = true\n[includeIf \"gitdir:x\"]\n\tpath = y\n",
		"sub/.factory/mcp.json":        `{"mcpServers":{"s":{"command":"s"}}}`,
		"other/.factory/mcp.json":      `{"mcpServers":{"no":{"command":"no"}}}`,
	})
	got := Project(filepath.Join(root, "sub"), "/home/me")
	require.Equal(t, root, got.Root)
	require.ElementsMatch(t, []string{
		"MCP server s: s", "MCP server a: https://a.test/", "MCP server b: npx -y b",
		"hook SessionStart: ./h s", "hook Stop: ./h wrapped", "hook Stop: ./h old",
		"allowed touch: touch", "allowed rm: rm", `mode autonomyLevel: "high"`, `mode autonomyMode: "auto-low"`,
		"setting customModels: []", "setting enableDroidShield: false", `plugin enabledPlugins: {"p@m":true}`,
		"command deploy: " + filepath.Join(root, ".factory", "commands", "deploy"), "command " + filepath.Join("d", "e.sh") + ": " + filepath.Join(root, ".agents", "commands", "d", "e.sh"),
		"git core.fsmonitor: ./watch", `git include: [includeIf "gitdir:x"]`,
	}, lines(got))
	require.Len(t, got.Inseparable(), 2)
	require.Empty(t, Project(filepath.Join(root, "sub"), root).Of(Plugin), "what stands in the user's own directory is the user's")
	require.Len(t, Project(filepath.Join(root, "sub"), root).Items, 1)
}

func TestProjectsThatBringNothing(t *testing.T) {
	root := repository(t, map[string]string{
		".factory/settings.json":     `{"sessionDefaultSettings":{"autonomyLevel":"off","autonomyMode":"spec"},"hooks":{},"commandAllowlist":[]}`,
		".factory/mcp.json":          `{"mcpServers":{}}`,
		".factory/commands/greet.md": "Hello", ".factory/droids/x.md": "A subagent.", "AGENTS.md": "Be kind.",
	})
	require.Empty(t, Project(root, "/home/me").Items)
	file := repository(t, map[string]string{".factory": "a file"})
	require.Empty(t, Project(file, "/home/me").Items)
	require.Empty(t, Project(filepath.Join(root, "gone"), "/home/me").Items)
}

// Whatever changes what would run changes the sum; where it stands does not.
func TestSums(t *testing.T) {
	sums := func(mcp string) []string {
		var all []string
		for _, i := range Project(repository(t, map[string]string{".factory/mcp.json": mcp}), "/home/me").Items {
			all = append(all, i.Sum())
		}
		return all
	}
	base := sums(`{"mcpServers":{"a":{"command":"x","args":["1"],"env":{"K":"v"}}}}`)
	require.Equal(t, base, sums(`{ "mcpServers": {"a":{"env":{"K":"v"},"args":["1"],"command":"x"}}}`))
	for _, other := range []string{
		`{"mcpServers":{"b":{"command":"x","args":["1"],"env":{"K":"v"}}}}`, `{"mcpServers":{"a":{"command":"y","args":["1"],"env":{"K":"v"}}}}`,
		`{"mcpServers":{"a":{"command":"x","args":["2"],"env":{"K":"v"}}}}`, `{"mcpServers":{"a":{"command":"x","args":["1"],"env":{"K":"w"}}}}`,
	} {
		require.NotEqual(t, base, sums(other))
	}
	program := func(text string) string {
		return Project(repository(t, map[string]string{".factory/commands/x": "#!/bin/sh\n" + text}), "/home/me").Items[0].Sum()
	}
	require.NotEqual(t, program("a"), program("b"))
}

// A worktree shares its repository's directory; a directory that only says so does not.
func TestCommonGitDir(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	main, tree, liar := filepath.Join(base, "main"), filepath.Join(base, "tree"), filepath.Join(base, "liar")
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", main, "-c", "user.name=x", "-c", "user.email=x@x"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.Mkdir(main, 0o755))
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "x")
	git("worktree", "add", "-q", tree)
	require.Equal(t, filepath.Join(main, ".git"), CommonGitDir(main))
	require.Equal(t, filepath.Join(main, ".git"), CommonGitDir(tree))
	require.NoError(t, os.Mkdir(liar, 0o755))
	line, err := os.ReadFile(filepath.Join(tree, ".git"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(liar, ".git"), line, 0o644))
	require.NotEqual(t, filepath.Join(main, ".git"), CommonGitDir(liar))
}

func TestReadUser(t *testing.T) {
	home := t.TempDir()
	u, err := ReadUser(home)
	require.NoError(t, err)
	require.False(t, u.Hooks)
	require.Equal(t, map[string]string{"autonomyLevel": "off", "autonomyMode": "normal", "interactionMode": "auto"}, u.Autonomy)
	write(t, home, map[string]string{
		".factory/mcp.json":      `{"mcpServers":{"mine":{"command":"m"}}}`,
		".factory/settings.json": `{"commandAllowlist":["ls"],"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]},"sessionDefaultSettings":{"autonomyMode":"auto-medium"}}`,
	})
	u, err = ReadUser(home)
	require.NoError(t, err)
	require.True(t, u.Hooks)
	require.Equal(t, []string{"ls"}, u.Allowed)
	require.Contains(t, u.Servers, "mine")
	require.Equal(t, map[string]string{"autonomyLevel": "medium", "autonomyMode": "auto-medium", "interactionMode": "auto"}, u.Autonomy)
	write(t, home, map[string]string{".factory/settings.local.json": `{"autonomyLevel":`})
	_, err = ReadUser(home)
	require.ErrorContains(t, err, "settings.local.json")
}

func TestStartMode(t *testing.T) {
	for _, tc := range []struct{ level, mode, interaction, want string }{
		{"", "", "", "off normal auto"}, {"", "spec", "", "off spec spec"}, {"", "auto-high", "", "high auto-high auto"},
		{"low", "auto-high", "", "low auto-low auto"}, {"bogus", "auto-high", "", "off normal auto"}, {"", "bogus", "", "off normal auto"},
		{"", "auto-high", "spec", "off spec spec"}, {"high", "", "spec", "high spec spec"},
	} {
		of := map[string]any{}
		for key, v := range map[string]string{"autonomyLevel": tc.level, "autonomyMode": tc.mode, "interactionMode": tc.interaction} {
			if v != "" {
				of[key] = v
			}
		}
		got := startMode(of)
		require.Equal(t, tc.want, strings.Join([]string{got["autonomyLevel"], got["autonomyMode"], got["interactionMode"]}, " "), tc)
	}
}

// FuzzProject has a project whose files hold anything: it is read, and what is read twice
// is the same.
func FuzzProject(f *testing.F) {
	f.Add(`{"mcpServers":{"a":{"command":"x"}}}`, `{"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}`, `{"Stop":[1,{}]}`, "[core]\nfsmonitor=x")
	f.Add(`{"mcpServers":[]}`, `{"hooks":[],"commandAllowlist":{},"sessionDefaultSettings":1}`, `[`, "]")
	f.Fuzz(func(t *testing.T, mcp, settings, hooks, config string) {
		root := repository(t, map[string]string{".factory/mcp.json": mcp, ".factory/settings.json": settings, ".factory/hooks.json": hooks, ".git/config": config})
		a, b := Project(root, "/home/me"), Project(root, "/home/me")
		require.True(t, Same(&a, &b))
		require.True(t, slices.EqualFunc(a.Items, b.Items, func(x, y Item) bool { return x == y }))
	})
}
