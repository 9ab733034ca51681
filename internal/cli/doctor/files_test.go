package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/store"
)

// look makes one check without a droid.
func (h *house) look(id string) Check {
	h.t.Helper()
	p := &inspection{Config: h.config, factory: factoryDir(h.home)}
	for _, r := range table {
		if r.id == id {
			check := p.run(h.t.Context(), r)
			h.sensible(check)
			return check
		}
	}
	h.t.Fatalf("no check %s", id)
	return Check{}
}

func TestSettings(t *testing.T) {
	h := newHouse(t, "")
	require.Equal(t, OK, h.look("settings").Result)
	h.write(".factory/settings.json", `{"customModels": [],}`)
	broken := h.look("settings")
	require.Equal(t, Failure, broken.Result)
	require.Contains(t, broken.Found, "line 1, column 20: there is nothing behind this comma.")
	require.Equal(t, OK, h.look("hooks").Result, "one file, one failure")
	h.write(".factory/settings.json", `{"customModels": "SECRET"}`)
	require.Contains(t, h.look("settings").Found, `"customModels" is of a kind that droid does not take`)
	require.NoError(t, os.Remove(filepath.Join(h.home, ".factory", "settings.json")))
	require.NoError(t, os.Mkdir(filepath.Join(h.home, ".factory", "settings.json"), 0o700))
	require.Contains(t, h.look("settings").Found, "no regular file")
}

// droid uses the models of settings.local.json instead of those of settings.json, and those of config.json in addition (0.99.0, 0.215.0,
// 0.225.2).
func TestOwnModels(t *testing.T) {
	h := newHouse(t, "")
	h.write(".factory/settings.json", `{"customModels": [{"model": "a"}, {"model": "b"}]}`)
	h.write(".factory/settings.local.json", `{"customModels": [{"model": "c", "provider": "openai"}]}`)
	h.write(".factory/config.json", `{"custom_models": [{"model": "d", "model_display_name": "D", "provider": "openai"}]}`)
	require.Contains(t, h.look("settings").Found, "config.json can be read; your own: c (openai) and D (openai).")
}

func TestMCP(t *testing.T) {
	h := newHouse(t, "")
	require.Equal(t, OK, h.look("mcp").Result)
	h.write("bin/there", "x")
	if runtime.GOOS == "windows" {
		h.write("bin/there.exe", "x")
	}
	h.write(".factory/mcp.json", `{"mcpServers": {"one": {"type": "stdio", "command": "there", "env": {"KEY": "SECRET"}}, "two": {"type": "http", "url": "https://SECRET@x"}}}`)
	h.write("work/.factory/mcp.json", `{"mcpServers": {"three": {"command": "gone"}, "off": {"command": "gone", "disabled": true}}}`)
	got := h.look("mcp")
	require.Equal(t, Warning, got.Result)
	require.Contains(t, got.Found, "2 servers in "+filepath.Join(h.home, ".factory", "mcp.json")+": one and two")
	require.Contains(t, got.Found, `The command "gone" of the server "three" is not there.`)
	require.Equal(t, 1, strings.Count(got.Found, "is not there"), "one that is off need not be there")
	data, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(data), "SECRET")
	h.write("work/.factory/mcp.json", `nonsense`)
	require.Contains(t, h.look("mcp").ToDo, "Correct ")
}

func TestHooks(t *testing.T) {
	h := newHouse(t, "")
	require.Equal(t, "You have none.", h.look("hooks").Found)
	file := h.write(".factory/settings.json", `{"hooks": {"PostToolUse": [{"hooks": []}], "Stop": []}}`)
	h.write("work/.factory/hooks.json", `{"Stop": 3}`)
	got := h.look("hooks")
	require.Equal(t, Warning, got.Result)
	require.Contains(t, got.Found, "for PostToolUse and Stop in "+file)
	require.Contains(t, got.Found, `"Stop" is no list`)
}

// The format of each file was verified with droid 0.99.0, 0.215.0 and 0.225.2.
func TestHooksOfEachFile(t *testing.T) {
	for name, c := range map[string]struct{ file, text, found string }{
		"a file of hooks":             {"hooks.json", `{"Stop": []}`, "for Stop in "},
		"one in a directory":          {"hooks/hooks.json", `{"Stop": []}`, "for Stop in "},
		"one in the form of settings": {"hooks.json", `{"hooks": {"Stop": []}}`, `"hooks" is no list`},
		"a switch":                    {"settings.json", `{"hooks": {"hooksDisabled": true}}`, "You have none."},
		"local settings":              {"settings.local.json", `{"hooks": {"Stop": []}}`, "You have none."},
	} {
		h := newHouse(t, "")
		h.write(".factory/"+c.file, c.text)
		require.Contains(t, h.look("hooks").Found, c.found, name)
	}
}

// The project of a symbolic link is that of its target, and a file named .factory contributes nothing.
func TestProjectBehindALink(t *testing.T) {
	h := newHouse(t, "")
	h.write("repository/.git/HEAD", "ref: x")
	h.write("repository/sub/.factory", "x")
	h.write("repository/.factory/mcp.json", `{"mcpServers": {"one": {"url": "http://x"}}}`)
	if err := os.Symlink(filepath.Join(h.home, "repository", "sub"), filepath.Join(h.home, "link")); err != nil {
		t.Skip("links cannot be made here")
	}
	h.config.Dir = filepath.Join(h.home, "link")
	got := h.look("mcp")
	require.Equal(t, OK, got.Result, got.Found)
	require.Contains(t, got.Found, "1 server in "+filepath.Join(h.home, "repository", ".factory", "mcp.json"))
}

func TestState(t *testing.T) {
	h := newHouse(t, "")
	require.Equal(t, OK, h.look("state").Result)
	_, err := os.Stat(filepath.Dir(h.config.Journal))
	require.ErrorIs(t, err, os.ErrNotExist, "looking makes nothing")
	h.write(".local/state/droid-acp/edits/x.edit", "x")
	require.Equal(t, Warning, h.look("state").Result)
	require.Contains(t, h.look("state").Found, "1 edit in ")
	h.write(".factory/sessions", "x")
	require.Contains(t, h.look("state").Found, "is no directory")
	require.NoError(t, os.Remove(filepath.Join(h.home, ".factory", "sessions")))
	require.NoError(t, os.Mkdir(filepath.Join(h.home, ".factory", store.LinksName), 0o700))
	require.Contains(t, h.look("state").Found, store.LinksName+" cannot be written: ")
}

func TestVariables(t *testing.T) {
	h := newHouse(t, "")
	t.Setenv("DROID_ACP_MODEL", "m")
	require.Equal(t, "Set here: DROID_ACP_MODEL.", h.look("variables").Found)
	h.config.UnknownVariables = []string{"unknown variable DROID_ACP_MODLE"}
	require.Equal(t, Warning, h.look("variables").Result)
}

func TestReportIsSafe(t *testing.T) {
	r := Report{Version: "v", System: "s", Home: "/home/me", Checks: []Check{{Name: "n", Result: Warning, Found: "a\x1b[2Jb\nc \u202e /home/me/x /home/mel", ToDo: strings.Repeat("word ", 40)}}}
	text := shown(r)
	require.Contains(t, text, `a\x1b[2Jb ⏎ c \u202e ~/x /home/mel`)
	require.Contains(t, text, "1 warning, and nothing was found that stops you.")
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len([]rune(line)), usual+1)
	}
}
