package droid

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/stream"
)

// untrusted is a layer that brings a bit of everything.
func untrusted(t *testing.T) *projectconfig.Layer {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".factory"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	for name, text := range map[string]string{
		"mcp.json":      `{"mcpServers":{"evil":{"command":"evil"}}}`,
		"settings.json": `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./evil"}]}]},"commandAllowlist":["touch"],"autonomyMode":"auto-high"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".factory", name), []byte(text), 0o644))
	}
	l := projectconfig.Project(dir, "/home/me")
	require.Len(t, l.Items, 4)
	return &l
}

// From its start on a process runs nothing of anybody's, and asks as it would without the
// project: 0.99 reads that only once.
func TestStartWithoutALayer(t *testing.T) {
	home := t.TempDir()
	cmd := fakeCommand("settings", "HOME="+home, "USERPROFILE="+home, envFakeVersion+"=1.220.0")
	cmd.Excluded, cmd.Alone = untrusted(t), true
	c, err := start(cmd, nil, shortBounds)
	require.NoError(t, err)
	t.Cleanup(func() { c.Kill(); <-c.Exited() })
	require.True(t, c.TakesRuntime())
	require.True(t, projectconfig.Same(cmd.Excluded, c.StartedExcluding()))
	require.Nil(t, c.Excluded(), "it has no session yet")
	require.Contains(t, c.env, "GIT_CONFIG_KEY_0=core.fsmonitor")
	ctx := testContext(t)
	_, err = c.Initialize(ctx, InitializeParams{CWD: "/x"})
	require.NoError(t, err)
	<-c.Events() // the version
	_, text := toldSettings(t, c)
	require.JSONEq(t, `{"mcpPolicy":{"enabled":true,"allowlist":[]},"hooks":{"hooksDisabled":true},"commandDenylist":["touch"],
		"sessionDefaultSettings":{"autonomyLevel":"off","autonomyMode":"normal","interactionMode":"auto"},
		"autonomyLevel":"off","autonomyMode":"normal","interactionMode":"auto"}`, text)

	require.NoError(t, c.SetRuntime(Runtime{CWD: "/x", Excluded: cmd.Excluded}))
	require.True(t, projectconfig.Same(cmd.Excluded, c.Excluded()))
	require.ErrorIs(t, c.SetRuntime(Runtime{CWD: "/x", Excluded: cmd.Excluded, Hooks: []Hook{{Event: "PreToolUse", Command: "x"}}}), ErrHooks, "ours are never lost silently")
	require.False(t, c.HasHooks())
}

// Without the settings of a process it does not start.
func TestNoStartWithALayer(t *testing.T) {
	home := t.TempDir()
	for name, env := range map[string]string{EnvSettings + "=/mine.json": "is set to /mine.json", "HOME=" + home: "cannot be read"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, ".factory"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(home, ".factory", "settings.json"), []byte("{"), 0o644))
		cmd := fakeCommand("settings", "HOME="+t.TempDir(), "USERPROFILE="+home, name)
		cmd.Excluded, cmd.Alone = untrusted(t), true
		_, err := start(cmd, nil, shortBounds)
		var cannot *ExcludeError
		require.ErrorAs(t, err, &cannot)
		require.ErrorContains(t, err, env)
	}
}

// git configuration that a user sets by the environment is kept.
func TestWithoutPrograms(t *testing.T) {
	own := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=A"}
	require.Equal(t, append(own, "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_COUNT=5", "GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false",
		"GIT_CONFIG_KEY_2=log.showSignature", "GIT_CONFIG_VALUE_2=false", "GIT_CONFIG_KEY_3=safe.bareRepository", "GIT_CONFIG_VALUE_3=explicit",
		"GIT_CONFIG_KEY_4=index.threads", "GIT_CONFIG_VALUE_4=1"), withoutPrograms(own))
	require.Equal(t, []string{"GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_COUNT=4", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=log.showSignature", "GIT_CONFIG_VALUE_1=false", "GIT_CONFIG_KEY_2=safe.bareRepository", "GIT_CONFIG_VALUE_2=explicit",
		"GIT_CONFIG_KEY_3=index.threads", "GIT_CONFIG_VALUE_3=1"}, withoutPrograms(nil))
}

func TestMark(t *testing.T) {
	for want, s := range map[string]stream.MCPServer{
		"":              {Command: "é"},
		"npx":           {Command: "npx", Args: []string{"-y"}},
		"@scope/server": {Command: "npx", Args: []string{"-y", "@scope/server", "--x"}},
		"mcp.test":      {URL: "https://mcp.test:8080/long/path"},
	} {
		require.Equal(t, want, longestMark(s.Command, s.Args, s.URL))
	}
	list := marksOf([]stream.MCPServer{{Command: "b"}, {Command: "-"}}, []json.RawMessage{json.RawMessage(`{"command":"a"}`), json.RawMessage(`[]`)})
	require.Equal(t, []string{"", "a", "b"}, list)
}

// A process of a trusted project starts the servers of the project, the user and the editor, and no other.
func TestServersOfATrustedProject(t *testing.T) {
	const trusted = `"mcpServers":{"theirs":{"command":"npx","args":["server-of-theirs"]}}`
	for name, tc := range map[string]struct{ user, project, settings, allowed string }{
		"servers of all":             {`{}`, `{` + trusted + `}`, `{}`, `["editors","server-of-mine","server-of-theirs"]`},
		"a policy of the user's":     {`{"mcpPolicy":{"enabled":true,"allowlist":["x"]}}`, `{` + trusted + `}`, `{}`, `["x"]`},
		"a policy of the project's":  {`{}`, `{` + trusted + `}`, `{"mcpPolicy":{"enabled":true,"allowlist":[]}}`, ``},
		"plugins of the project's":   {`{}`, `{` + trusted + `}`, `{"enabledPlugins":{"p@m":true}}`, ``},
		"servers in an unknown form": {`{}`, `{"mcpServers":[{"command":"x"}]}`, `{}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			home := writeHome(t, map[string]string{"settings.json": tc.user, "mcp.json": `{"mcpServers":{"mine":{"command":"npx","args":["server-of-mine"]}}}`})
			dir := writeHome(t, map[string]string{"settings.json": tc.settings, "mcp.json": tc.project})
			project := projectconfig.Project(dir, home)
			cmd := fakeCommand("settings", "HOME="+home, "USERPROFILE="+home, envFakeVersion+"=1.220.0")
			cmd.Project = &project
			c, err := start(cmd, nil, shortBounds)
			require.NoError(t, err)
			t.Cleanup(func() { c.Kill(); <-c.Exited() })
			require.NoError(t, c.SetRuntime(Runtime{CWD: dir, Project: &project, MCPServers: []stream.MCPServer{{Name: "e", Command: "editors"}}}))
			_, err = c.Initialize(testContext(t), InitializeParams{CWD: dir})
			require.NoError(t, err)
			<-c.Events() // the version
			_, text := toldSettings(t, c)
			var got struct{ MCPPolicy, SessionDefaultSettings json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(text), &got))
			require.Empty(t, got.SessionDefaultSettings, "the project's count")
			if tc.allowed == "" {
				require.Empty(t, got.MCPPolicy)
			} else {
				require.JSONEq(t, `{"enabled":true,"allowlist":`+tc.allowed+`}`, string(got.MCPPolicy))
			}
		})
	}
}

// startIn starts a process in a project that is not known to bring anything, in this home.
func startIn(t *testing.T, home string, without projectconfig.Layer, version string, env ...string) (*Client, error) {
	cmd := fakeCommand("settings", append([]string{"HOME=" + home, "USERPROFILE=" + home, envFakeVersion + "=" + version}, env...)...)
	cmd.Excluded, cmd.Runtime = &without, true
	c, err := start(cmd, nil, shortBounds)
	if err == nil {
		t.Cleanup(func() { c.Kill(); <-c.Exited() })
	}
	return c, err
}

func writeHome(t *testing.T, files map[string]string) string {
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".factory"), 0o755))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(home, ".factory", name), []byte(text), 0o644))
	}
	return home
}

// A process starts sessions with the user's own model where the project names another, also after a yes.
func TestUsersModel(t *testing.T) {
	for name, tc := range map[string]struct {
		user, settings string
		project, wants map[string]string
	}{
		"another": {`{"model":"mine","reasoningEffort":"low"}`, `"model":"mine"`, map[string]string{"model": "theirs"}, map[string]string{"model": "theirs"}},
		"of spec mode": {`{"sessionDefaultSettings":{"model":"mine"}}`, `"specModeModel":"mine"`, map[string]string{"specModeModel": "theirs", "reasoningEffort": "high"},
			map[string]string{"specModeModel": "theirs", "reasoningEffort": "high"}},
		"the user's":                  {`{"model":"mine"}`, `"model":"mine"`, map[string]string{"model": "mine"}, map[string]string{}},
		"a user without one":          {`{}`, ``, map[string]string{"model": "theirs"}, map[string]string{"model": "theirs"}},
		"a project that names no one": {`{"model":"mine"}`, ``, map[string]string{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			home := writeHome(t, map[string]string{"settings.json": tc.user})
			cmd := fakeCommand("settings", "HOME="+home, "USERPROFILE="+home, envFakeVersion+"=1.220.0")
			cmd.Project = &projectconfig.Layer{Models: tc.project}
			c, err := start(cmd, nil, shortBounds)
			require.NoError(t, err)
			t.Cleanup(func() { c.Kill(); <-c.Exited() })
			c.AwaitStart(testContext(t))
			require.NoError(t, c.SetRuntime(Runtime{CWD: "/x", Project: cmd.Project}))
			require.Equal(t, tc.wants, c.ProjectModels())
			_, err = c.Initialize(testContext(t), InitializeParams{CWD: "/x"})
			require.NoError(t, err)
			<-c.Events() // the version
			_, text := toldSettings(t, c)
			const always = `"mcp":{"mcpServers":{}},"mcpPolicy":{"enabled":true,"allowlist":[]},"hooks":{"hooksDisabled":true}`
			switch {
			case tc.settings != "":
				require.JSONEq(t, `{`+always+`,"sessionDefaultSettings":{`+tc.settings+`},`+tc.settings+`}`, text)
			case len(tc.project) > 0:
				require.JSONEq(t, `{`+always+`,"sessionDefaultSettings":{}}`, text)
			default:
				require.JSONEq(t, `{`+always+`}`, text)
			}
		})
	}
}

// Unknown servers do not start either: the settings that restrict nothing of the user are always set.
func TestUnknownServersAreRefused(t *testing.T) {
	const mode = `"sessionDefaultSettings":{"autonomyLevel":"low","autonomyMode":"auto-low","interactionMode":"auto"},"autonomyLevel":"low","autonomyMode":"auto-low","interactionMode":"auto"`
	for name, tc := range map[string]struct {
		home   map[string]string
		policy string
	}{
		"servers of the user's":   {map[string]string{"mcp.json": `{"mcpServers":{"mine":{"command":"npx","args":["server-of-mine"]}}}`}, `"mcpPolicy":{"enabled":true,"allowlist":["editors","server-of-mine"]},"hooks":{"hooksDisabled":true}`},
		"a policy of the user's":  {map[string]string{"settings.local.json": `{"mcpPolicy":{"enabled":true,"allowlist":["x"]}}`}, `"mcpPolicy":{"enabled":true,"allowlist":["x"]},"hooks":{"hooksDisabled":true}`},
		"plugins of the user's":   {map[string]string{"settings.local.json": `{"enabledPlugins":{"p@m":true}}`}, `"x":0`},
		"a server without a name": {map[string]string{"mcp.json": `{"mcpServers":{"mine":{"command":"é"}}}`}, `"hooks":{"hooksDisabled":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			tc.home["settings.json"] = `{"autonomyMode":"auto-low"}`
			c, err := startIn(t, writeHome(t, tc.home), projectconfig.Layer{Found: true}, "1.220.0")
			require.NoError(t, err)
			require.Contains(t, c.env, "GIT_CONFIG_KEY_0=core.fsmonitor")
			c.AwaitStart(testContext(t))
			require.NoError(t, c.SetRuntime(Runtime{CWD: "/x", Excluded: &projectconfig.Layer{}, MCPServers: []stream.MCPServer{{Name: "e", Command: "editors"}}}))
			_, err = c.Initialize(testContext(t), InitializeParams{CWD: "/x"})
			require.NoError(t, err)
			require.Nil(t, c.Excluded(), "nothing is known to be left out")
			<-c.Events() // the version
			_, text := toldSettings(t, c)
			var got, want map[string]any
			require.NoError(t, json.Unmarshal([]byte(text), &got))
			require.NoError(t, json.Unmarshal([]byte("{"+mode+","+tc.policy+"}"), &want))
			delete(got, "mcp")
			delete(want, "x")
			require.Equal(t, want, got)
		})
	}
}

// If the user's settings cannot be read, droid still works in an ordinary directory, but not in one in which it looks for something to run.
func TestUnreadableUserSettings(t *testing.T) {
	for _, env := range []string{EnvSettings + "=/mine.json", "X=1"} {
		home := writeHome(t, map[string]string{"settings.json": "{"})
		c, err := startIn(t, home, projectconfig.Layer{}, "1.220.0", env)
		require.NoError(t, err)
		if c.TakesRuntime() {
			require.NoError(t, c.SetRuntime(Runtime{CWD: "/x", Excluded: &projectconfig.Layer{}}))
		}
		_, err = startIn(t, home, projectconfig.Layer{Found: true}, "1.220.0", env)
		var cannot *ExcludeError
		require.ErrorAs(t, err, &cannot)
	}
}

// A droid that must leave nothing out takes MCP servers also where the user's settings cannot be read.
func TestRuntimeWithUnreadableUserSettings(t *testing.T) {
	home := writeHome(t, map[string]string{"settings.json": "{"})
	for name, cmd := range map[string]Command{"trusted": {Project: &projectconfig.Layer{Found: true}}, "nothing found": {Project: &projectconfig.Layer{}, Excluded: &projectconfig.Layer{}}} {
		t.Run(name, func(t *testing.T) {
			fake := fakeCommand("settings", "HOME="+home, "USERPROFILE="+home, envFakeVersion+"=1.220.0")
			fake.Project, fake.Excluded, fake.Runtime = cmd.Project, cmd.Excluded, true
			c, err := start(fake, nil, shortBounds)
			require.NoError(t, err)
			t.Cleanup(func() { c.Kill(); <-c.Exited() })
			require.True(t, c.TakesRuntime())
			require.NoError(t, c.SetRuntime(Runtime{CWD: "/x", Project: cmd.Project, Excluded: cmd.Excluded, MCPServers: []stream.MCPServer{{Name: "e", Command: "editors"}}}))
			_, err = c.Initialize(testContext(t), InitializeParams{CWD: "/x"})
			require.NoError(t, err)
			<-c.Events() // the version
			_, text := toldSettings(t, c)
			require.Contains(t, text, "editors")
		})
	}
}

// A key unknown to all droids with known keys may exist in an unknown droid.
func TestUnheardKeys(t *testing.T) {
	bun := projectconfig.Layer{Items: []projectconfig.Item{{Kind: projectconfig.Preload, Name: "bunfig.toml"}}}
	for version, left := range map[string]int{"1.220.0": 0, "1.221.0": 0, "1.206.0": 0, "1.32.0": 1, "1.15.0": 1} {
		v, err := stream.ParseVersion(version)
		require.NoError(t, err)
		require.Len(t, bun.Except(ignoredKinds(v)...).Items, left, version)
	}
	unheard := projectconfig.Layer{Found: true, Items: []projectconfig.Item{{Kind: projectconfig.UnknownKey, Name: "new", Does: "1"}}}
	for version, left := range map[string]bool{"1.220.0": false, "1.15.0": false, "1.221.0": true, "1.219.0": true} {
		c, err := startIn(t, t.TempDir(), unheard, version)
		require.NoError(t, err)
		c.AwaitVersion(testContext(t))
		err = c.SetRuntime(Runtime{CWD: t.TempDir(), Excluded: &unheard, Hooks: []Hook{{Event: "PreToolUse", Command: "x"}}})
		require.Equal(t, left, err != nil, version)
		require.Equal(t, left, c.Excluded() != nil, version)
		require.Equal(t, !left, c.HasHooks(), version)
	}
}

// A process alone is in an empty directory, which is gone when it is.
func TestAlone(t *testing.T) {
	cmd := fakeCommand("settings", "HOME="+t.TempDir())
	cmd.Alone, cmd.Dir = true, t.TempDir()
	c, err := start(cmd, nil, shortBounds)
	require.NoError(t, err)
	dir := c.proc.dir.Path
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "its .git, by which no repository around it is its")
	require.NotContains(t, strings.Join(cmd.arguments(), " "), "--cwd")
	c.Kill()
	<-c.Exited()
	require.NoDirExists(t, dir)
}

// Files of a process with a scratch directory are removed with it; it has the user's settings, and no login.
func TestScratch(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".factory", "cache"), 0o755))
	for _, name := range []string{"host.json", "settings.json", "auth.v2.file", "mcp.json", "cache/org-managed-settings.json"} {
		require.NoError(t, os.WriteFile(filepath.Join(home, ".factory", name), []byte(`{"a":1}`), 0o600))
	}
	cmd := fakeCommand("settings", "HOME="+home)
	cmd.Alone, cmd.Scratch, cmd.Dir = true, true, t.TempDir()
	c, err := start(cmd, nil, shortBounds)
	require.NoError(t, err)
	dir := c.proc.scratch.Path
	for name, there := range map[string]bool{"host.json": true, "settings.json": true, "settings.local.json": false, "auth.v2.file": false, "mcp.json": false, "cache/org-managed-settings.json": true} {
		text, err := os.ReadFile(filepath.Join(dir, ".factory", name))
		require.Equal(t, there, err == nil, name)
		require.Equal(t, there, string(text) == `{"a":1}`, name)
	}
	require.Equal(t, home, Home(c.env), "where its login would be")
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".factory", "new"), nil, 0o600))
	c.Kill()
	<-c.Exited()
	require.NoDirExists(t, dir)
	require.FileExists(t, filepath.Join(home, ".factory", "settings.json"), "a link was removed, not the file")
}
