package projectconfig

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/config"
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
	write(t, dir, map[string]string{".git/HEAD": "ref: refs/heads/main\n"})
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

func TestItemsOfProject(t *testing.T) {
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
		".factory/config.json":         `{"custom_models":[]}`,
		".factory/tool.bin":            "x",
		"sub/.factory/mcp.json":        `{"mcpServers":{"s":{"command":"s"}}}`,
		"other/.factory/mcp.json":      `{"mcpServers":{"no":{"command":"no"}}}`,
	})
	got := Project(filepath.Join(root, "sub"), "/home/me")
	require.Equal(t, root, got.Root)
	require.ElementsMatch(t, []string{
		"MCP server s: s", "MCP server a: https://a.test/", "MCP server b: npx -y b",
		"hook SessionStart: ./h s", "hook Stop: ./h wrapped", "hook Stop: ./h old",
		"allowed touch: touch", "allowed rm: rm", `mode autonomyLevel: "high"`, `mode autonomyMode: "auto-low"`,
		"setting customModels: []", "setting custom_models: []", "strange tool.bin: is unknown", "setting enableDroidShield: false", `plugin enabledPlugins: {"p@m":true}`,
		"command deploy: " + filepath.Join(root, ".factory", "commands", "deploy"), "command " + filepath.Join("d", "e.sh") + ": " + filepath.Join(root, ".agents", "commands", "d", "e.sh"),
	}, lines(got))
	require.Len(t, got.Inseparable(), 3)
	require.True(t, got.Found)
	require.Empty(t, Project(filepath.Join(root, "sub"), root).Of(Plugin), "what stands in the user's own directory is the user's")
	require.Len(t, Project(filepath.Join(root, "sub"), root).Items, 1)
}

func TestProjectsWithoutItems(t *testing.T) {
	root := repository(t, map[string]string{
		".factory/settings.json":     `{"sessionDefaultSettings":{"autonomyLevel":"off","autonomyMode":"spec"},"hooks":{},"commandAllowlist":[]}`,
		".factory/mcp.json":          `{"mcpServers":{}}`,
		".factory/commands/greet.md": "Hello", ".factory/droids/x.md": "A subagent.", "AGENTS.md": "Be kind.",
	})
	require.Empty(t, Project(root, "/home/me").Items)
	file := repository(t, map[string]string{".factory": "a file"})
	require.Empty(t, Project(file, "/home/me").Items)
	require.Empty(t, Project(filepath.Join(root, "gone"), "/home/me").Items)
	require.False(t, Project(repository(t, nil), "/home/me").Found)
	bun := Project(repository(t, map[string]string{"bunfig.toml": "preload = [\"./x\"]"}), "/home/me")
	require.Equal(t, []string{"preload bunfig.toml: may name programs that an old droid runs as it starts"}, lines(bun))
	require.Empty(t, bun.Except(Preload).Items)
}

// A change of what would run changes the sum; a change of its file does not.
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

// Content that an ordinary JSON parser would not treat as executable counts as such: droid's may.
func TestUnusualJSONCounts(t *testing.T) {
	hook := `{"SessionStart":[{"hooks":[{"type":"command","command":"x"}]}]}`
	server := `{"mcpServers":{"a":{"command":"x"}}}`
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	for _, tc := range []struct {
		file, text string
		kind       Kind
		hidesAll   bool // no server can be named
	}{
		{"mcp.json", `{"__proto__":` + server + `}`, MCPServer, true},
		{"mcp.json", `{"\u005f_proto__":` + server + `}`, MCPServer, true},
		{"mcp.json", `{"mcpServers":{"a":{"command":"x","constructor":{}}}}`, MCPServer, true},
		{"mcp.json", `{"mcpServers":[{"command":"x"}]}`, MCPServer, true},
		{"mcp.json", `{"mcpServers":"x"}`, MCPServer, true},
		{"mcp.json", `{"servers":{}}`, UnknownKey, true},
		{"mcp.json", `{"persistentPermissions":{}}`, Setting, false},
		{"mcp.json", `{"mcpServers":{"a":{"disabled":true}},"mcpServers":{"a":{"command":"x"}}}`, MCPServer, true},
		{"mcp.json", `{"mcpServers":{"a b":{"command":"x"}}}`, MCPServer, true},
		{"mcp.json", `{"mcpServers":{"toString":{"command":"x"}}}`, MCPServer, true},
		{"mcp.json", `{"mcpServers":{"a":"x"}}`, MCPServer, false},
		{"mcp.json", `{"mcpServers":{"a":{"command":"x","disabled":"no"}}}`, MCPServer, false},
		{"mcp.json", `{"mcpServers":{},"x":` + deep + `}`, MCPServer, true},
		{"mcp.json", server + " x", MCPServer, true},
		{"mcp.json", "\ufeff" + server, MCPServer, true},
		{"mcp.json", "{// \u2028\n" + server[1:], MCPServer, true},
		{"mcp.json", `["x"]`, MCPServer, true},
		{"mcp.json", "{\"a\xff\":1}", MCPServer, true},
		{"hooks.json", `{"__proto__":` + hook + `}`, Hook, false},
		{"hooks.json", `{"Stop":{"hooks":[{"command":"x"}]}}`, Hook, false},
		{"hooks.json", `{"Stop":["x"]}`, Hook, false},
		{"hooks.json", `{"Stop":[{"hooks":[],"type":"command","command":"x"}]}`, Hook, false},
		{"hooks/hooks.json", `{"Stop":[{"hooks":[{"command":["x"]}]}]}`, Hook, false},
		{"settings.json", `{"hooks":[]}`, Hook, false},
		{"settings.json", `{"hooks":{"hooksDisabled":true}}`, Setting, false},
		{"settings.json", `{"hooks":{"__proto__":` + hook + `}}`, Unread, false},
		{"settings.json", `{"__proto__":{"hooks":` + hook + `}}`, Unread, false},
		{"settings.json", `{"sessionDefaultSettings":{"__proto__":{"autonomyLevel":"high"}}}`, Unread, false},
		{"settings.json", `{"sessionDefaultSettings":["x"]}`, Setting, false},
		{"settings.json", `{"sessionDefaultSettings":{"compactionModel":"x"}}`, Setting, false},
		{"settings.json", `{"autonomyLevel":{"toString":1}}`, Autonomy, false},
		{"settings.json", `{"commandAllowlist":{"0":"touch"}}`, Setting, false},
		{"settings.json", `{"commandAllowlist":[["touch"]]}`, Setting, false},
		{"settings.json", `{"env":{"BASH_ENV":"x"}}`, Setting, false},
		{"settings.json", `{"telemetry":{}}`, Setting, false},
		{"settings.json", `{"statusLine":{"command":"x"}}`, Setting, false},
		{"settings.json", `{"cloudSessionSync":true}`, Setting, false},
		{"settings.json", `{"sessionRetentionDays":1}`, Setting, false},
		{"settings.json", `{"completionSound":"/dev/zero"}`, Setting, false},
		{"settings.json", `{"specSaveDir":"../.."}`, Setting, false},
		{"settings.json", `{"theme":["dark"]}`, Setting, false},
		{"settings.json", `{"newInNextWeek":{}}`, UnknownKey, true},
		{"settings.local.json", `{"mcp":` + server + `}`, Setting, false},
		{"config.json", `{"custom_models":[{"model":"m","base_url":"http://x"}]}`, Setting, false},
		{"config.json", `{`, Unread, false},
		{"plugins/installed_plugins.json", `{}`, Plugin, true},
		{"mcp.jsonc", server, UnknownFile, true},
		{"commands/" + strings.Repeat("d/", 12) + "x.sh", "#!/bin/sh\n", Program, false},
	} {
		got := Project(repository(t, map[string]string{".factory/" + tc.file: tc.text}), "/home/me")
		require.Len(t, got.Items, 1, "%s %s", tc.file, tc.text)
		require.Equal(t, tc.kind, got.Items[0].Kind, "%s %s", tc.file, tc.text)
		require.Equal(t, tc.hidesAll, got.HidesServers(), "%s %s", tc.file, tc.text)
		require.Equal(t, tc.kind == Setting || tc.kind == Unread, len(got.Inseparable()) == 1, "%s %s", tc.file, tc.text)
		require.Equal(t, tc.kind == UnknownKey, len(got.Except(UnknownKey).Items) == 0)
	}
}

// A command counts, whether or not a list of hooks is beside it: droid's reader of plugins runs it if the event's first entry has no list.
func TestHooksInBothForms(t *testing.T) {
	does := func(evil string) (lines []string, sums map[string]bool) {
		sums = map[string]bool{}
		for _, i := range Project(repository(t, map[string]string{".factory/hooks.json": `{"Stop":[{"type":"command","command":"true"},
			{"type":"command","command":"` + evil + `","hooks":[]},{"type":"command","command":"` + evil + `","hooks":[{"type":"command","command":"echo"}]}]}`}), "/home/me").Items {
			lines, sums[i.Sum()] = append(lines, i.Does), true
		}
		return lines, sums
	}
	lines, sums := does("./evil")
	require.Equal(t, []string{"true", "./evil", "./evil", "echo"}, lines)
	_, others := does("./worse")
	require.NotEqual(t, sums, others)
}

// droid runs a command whose text begins with "#!", whatever its name. On file systems without modes (NTFS, WSL), every file is executable.
func TestExecutableCommands(t *testing.T) {
	root := repository(t, map[string]string{
		".factory/commands/deploy.md": "#!/bin/sh\n", ".factory/commands/build.sh": "#!/bin/sh\n", ".factory/commands/review.md": "Review.",
		".factory/commands/late.md": "\n#!/bin/sh\n", ".factory/commands/bom.md": "\ufeff#!/bin/sh\n", ".factory/commands/data": "x", ".factory/commands/empty.md": "",
	})
	for _, mode := range []os.FileMode{0o644, 0o755} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, ".factory", "commands"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				err = os.Chmod(path, mode)
			}
			return err
		}))
		var names []string
		for _, i := range Project(root, "/home/me").Items {
			names = append(names, i.Name)
		}
		require.Equal(t, []string{"build.sh", "deploy.md"}, names, "%v", mode)
	}
}

// However a name is typed by which droid runs a program, the program is found.
func TestTyped(t *testing.T) {
	l := Project(repository(t, map[string]string{".factory/commands/a/b/Big Deploy.v2.sh": "#!/bin/sh\n", ".factory/commands/greet.md": "Hello"}), "/home/me")
	for _, text := range []string{"/big-deploy-v2", "  /BIG-deploy-v2 now", "//big-deploy-v2", "/ big-deploy-v2", "\ufeff/big-deploy-v2", "\u00a0/big-deploy-v2", "/big-deploy-v2\u00a0x", "/big-deploy-v2\u3000x", "/big-deploy-v2\u2028x", "/big-deploy-v2\vx", "/big-deploy-v2\r\nx", "/big--deploy.v2"} {
		program, ok := l.Typed(text)
		require.True(t, ok, "%q", text)
		require.Equal(t, "Big Deploy.v2.sh", filepath.Base(program.File))
	}
	for _, text := range []string{"big-deploy-v2", "/greet", "/", "", "say /big-deploy-v2", "/big-deploy-v3"} {
		_, ok := l.Typed(text)
		require.False(t, ok, "%q", text)
	}
	hidden := Layer{Items: []Item{{Kind: Program, Name: "commands", Does: "cannot be looked at", File: "/x/commands"}}}
	_, ok := hidden.Typed("/whatever")
	require.True(t, ok)
}

// The target of a link out of the project may change at any time.
func TestLinksOutOfTheProject(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, map[string]string{"mcp.json": `{"mcpServers":{}}`, "skills/x/SKILL.md": "x"})
	for _, name := range []string{".factory", ".factory/mcp.json", ".factory/skills", ".agents"} {
		root := repository(t, nil)
		target := outside
		if name != ".factory" && name != ".agents" {
			require.NoError(t, os.Mkdir(filepath.Join(root, ".factory"), 0o755))
			target = filepath.Join(outside, filepath.Base(name))
		}
		require.NoError(t, os.Symlink(target, filepath.Join(root, name)))
		items := Project(root, "/home/me").Items
		require.Len(t, items, 1, name)
		require.Equal(t, UnknownFile, items[0].Kind)
		require.Contains(t, items[0].Does, "out of the project")
	}
	inside := repository(t, map[string]string{".claude/skills/x/SKILL.md": "x", ".factory/README.md": "x"})
	require.NoError(t, os.Symlink("../.claude/skills", filepath.Join(inside, ".factory", "skills")))
	require.Empty(t, Project(inside, "/home/me").Items)
}

// The search continues upwards as in droid: a .git that droid ignores does not end it.
func TestProjectDirs(t *testing.T) {
	root := repository(t, map[string]string{"sub/deep/x": "x", ".factory/mcp.json": `{"mcpServers":{"s":{"command":"s"}}}`})
	sub, deep := filepath.Join(root, "sub"), filepath.Join(root, "sub", "deep")
	for name, make := range map[string]func(git string) error{
		"a dangling link":     func(git string) error { return os.Symlink("nowhere", git) },
		"an empty directory":  func(git string) error { return os.Mkdir(git, 0o755) },
		"a file":              func(git string) error { return os.WriteFile(git, []byte("x"), 0o644) },
		"a file into nowhere": func(git string) error { return os.WriteFile(git, []byte("gitdir: /nowhere\n"), 0o644) },
		"a link to a file":    func(git string) error { return os.Symlink("deep/x", git) },
		"a HEAD alone": func(git string) error {
			write(t, git, map[string]string{"HEAD": "ref: refs/heads/x\n"})
			return nil
		},
		"a HEAD that is none": func(git string) error {
			write(t, git, map[string]string{"HEAD": "", "objects/x": "", "refs/x": ""})
			return nil
		},
		"a HEAD with a form feed": func(git string) error {
			write(t, git, map[string]string{"HEAD": "ref:\frefs/heads/x\n", "objects/x": "", "refs/x": ""})
			return nil
		},
		"nothing": func(string) error { return nil },
	} {
		git := filepath.Join(sub, ".git")
		require.NoError(t, make(git), name)
		require.Equal(t, []string{deep, sub, root}, config.ProjectDirs(deep), name)
		require.Len(t, Project(deep, "/home/me").Items, 1, name)
		require.NoError(t, os.RemoveAll(git))
	}
	write(t, sub, map[string]string{".git/HEAD": "ref: refs/heads/x\n", ".git/objects/x": "", ".git/refs/x": ""})
	require.Equal(t, []string{deep, sub}, config.ProjectDirs(deep))
	alone := t.TempDir()
	require.Equal(t, []string{alone}, config.ProjectDirs(alone))
}

// The values in settings.local.json with which sessions start replace all of those in settings.json, and so does its policy (0.99.0,
// 0.215.0, 0.225.2).
func TestReadUsersLocalSettings(t *testing.T) {
	for local, mode := range map[string]string{
		`{}`:                            "auto-high",
		`{"sessionDefaultSettings":{}}`: "normal",
		`{"sessionDefaultSettings":{"reasoningEffort":"high"}}`: "normal",
		`{"sessionDefaultSettings":{"autonomyMode":"spec"}}`:    "spec",
		`{"autonomyMode":"auto-low"}`:                           "auto-low",
		`{"mcpPolicy":{"enabled":false}}`:                       "auto-high",
	} {
		home := t.TempDir()
		write(t, home, map[string]string{".factory/settings.local.json": local,
			".factory/settings.json": `{"sessionDefaultSettings":{"autonomyLevel":"high","interactionMode":"auto","model":"m"},"mcpPolicy":{"enabled":true,"allowlist":["x"]}}`})
		u, err := ReadUser(home)
		require.NoError(t, err)
		require.Equal(t, mode, u.Autonomy["autonomyMode"], local)
		require.Equal(t, mode == "auto-high", u.Models["model"] == "m", local)
		require.Equal(t, strings.Contains(local, "mcpPolicy"), u.Policy == nil, local)
	}
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
	require.False(t, u.Others)
	require.Nil(t, u.Policy)
	require.Equal(t, map[string]string{"autonomyLevel": "medium", "autonomyMode": "auto-medium", "interactionMode": "auto"}, u.Autonomy)
	write(t, home, map[string]string{".factory/settings.local.json": `{"commandAllowlist":["pwd"]}`})
	u, err = ReadUser(home)
	require.NoError(t, err)
	require.Equal(t, []string{"pwd"}, u.Allowed, "in place of those of settings.json")
	write(t, home, map[string]string{".factory/settings.local.json": `{"enabledPlugins":{},"mcpPolicy":{"enabled":true,"allowlist":["x",1]}}`})
	u, err = ReadUser(home)
	require.NoError(t, err)
	require.True(t, u.Others)
	require.Equal(t, []string{"x"}, u.Policy)
	write(t, home, map[string]string{".factory/settings.local.json": `{"autonomyLevel":`})
	_, err = ReadUser(home)
	require.ErrorContains(t, err, "settings.local.json")
}

// Of the models named in a project's files the nearest counts, and a local file's before another's.
func TestModelsOfProjectAndUser(t *testing.T) {
	root := repository(t, map[string]string{
		".factory/settings.json":           `{"model":"far","specModeModel":"spec","reasoningEffort":""}`,
		"sub/.factory/settings.json":       `{"model":"top","sessionDefaultSettings":{"model":"near"}}`,
		"sub/.factory/settings.local.json": `{"sessionDefaultSettings":{"reasoningEffort":"high"}}`,
		"local/.factory/settings.json":     `{"model":"shared"}`, "local/.factory/settings.local.json": `{"model":"own"}`,
	})
	for dir, want := range map[string]map[string]string{
		".":     {"model": "far", "specModeModel": "spec"},
		"sub":   {"model": "near", "specModeModel": "spec", "reasoningEffort": "high"},
		"local": {"model": "own", "specModeModel": "spec"},
	} {
		got := Project(filepath.Join(root, dir), "/home/me")
		require.Equal(t, want, got.Models, dir)
		require.Empty(t, got.Items)
		user, err := ReadUser(filepath.Join(root, dir))
		require.NoError(t, err)
		delete(want, "specModeModel")
		if want["reasoningEffort"] != "" { // of the user's droid takes all from the local file
			delete(want, "model")
		}
		delete(user.Models, "specModeModel")
		require.Equal(t, want, user.Models, dir)
	}
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

// FuzzProject checks that a project with arbitrary files can be read, and that reading it twice gives the same result.
func FuzzProject(f *testing.F) {
	f.Add(`{"mcpServers":{"a":{"command":"x"}}}`, `{"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}`, `{"Stop":[1,{}]}`, `{"custom_models":[]}`)
	f.Add(`{"mcpServers":[]}`, `{"hooks":[],"commandAllowlist":{},"sessionDefaultSettings":1}`, `[`, "]")
	f.Fuzz(func(t *testing.T, mcp, settings, hooks, config string) {
		root := repository(t, map[string]string{".factory/mcp.json": mcp, ".factory/settings.json": settings, ".factory/hooks.json": hooks, ".factory/config.json": config})
		a, b := Project(root, "/home/me"), Project(root, "/home/me")
		require.True(t, Same(&a, &b))
		require.True(t, slices.EqualFunc(a.Items, b.Items, func(x, y Item) bool { return x == y }))
	})
}

// TestSumsHoldContents checks that the sum of an unknown or incomprehensible file depends on its content, even if error, size and time are
// the same.
func TestSumsHoldContents(t *testing.T) {
	for name, texts := range map[string][2]string{
		".factory/settings.json": {`{"hooks":1,"hooks":2}`, `{"hooks":1,"hooks":3}`},
		".factory/mcp.json":      {`{"x":1}{`, `{"x":2}{`},
		".factory/hooks.json":    {strings.Repeat(" ", config.MaxFile+1) + "a", strings.Repeat(" ", config.MaxFile+1) + "b"},
		".factory/odd.bin":       {"a", "b"},
		".factory/odd/deep/file": {"a", "b"},
		"bunfig.toml":            {"a", "b"},
		".factory/commands/x.sh": {"#!a", "#!b"},
	} {
		root := repository(t, map[string]string{name: texts[0]})
		path := filepath.Join(root, filepath.FromSlash(name))
		info, err := os.Stat(path)
		require.NoError(t, err)
		before := Project(root, "").Items
		require.Len(t, before, 1, name)
		require.False(t, before[0].Unread, name)
		require.Equal(t, before[0].Sum(), Project(root, "").Items[0].Sum(), name)
		write(t, root, map[string]string{name: texts[1]})
		require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
		require.NotEqual(t, before[0].Sum(), Project(root, "").Items[0].Sum(), name)
	}
	many := map[string]string{}
	for n := range maxEntries + 1 {
		many[fmt.Sprintf(".factory/odd/%d", n)] = ""
	}
	items := Project(repository(t, many), "").Items
	require.Len(t, items, 1)
	require.True(t, items[0].Unread)
}
