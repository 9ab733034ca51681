package doctor

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// filesOf are the files below a directory with what is in them.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	}))
	return all
}

// droid runs with its own directory instead of ~/.factory, without the user's login and keys, and with addresses at which nothing listens.
func TestDroidLeavesNothing(t *testing.T) {
	h := newHouse(t, "spy")
	h.write(".factory/auth.v2.file", "SECRET")
	h.write(".factory/settings.json", `{"customModels": [{"model": "m", "displayName": "Scripted", "provider": "openai", "maxOutputTokens": 5, "noImageSupport": true,
"apiKey": "SECRET", "baseUrl": "http://SECRET@x/SECRET", "extraHeaders": {"a": "SECRET"}}, {"model": "n", "apiKey": "${KEY}", "baseUrl": ""}],
"sessionDefaultSettings": {"model": "custom:Scripted-0"}, "hooks": {"Stop": [{"hooks": [{"command": "SECRET"}]}]}, "other": "SECRET"}`)
	spy := filepath.Join(t.TempDir(), "spy")
	t.Setenv("DOCTOR_TEST_SPY", spy)
	t.Setenv(envKey, "SECRET")
	t.Setenv("HTTPS_PROXY", "http://proxy")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "SECRET")
	before := filesOf(t, filepath.Join(h.home, ".factory"))
	r := h.report()
	require.Equal(t, before, filesOf(t, filepath.Join(h.home, ".factory")))
	require.Contains(t, r.of(t, "session").Found, "droid offers 0 of your 2 own models.")

	data, err := os.ReadFile(spy)
	require.NoError(t, err)
	var seen struct {
		Env      []string
		Files    []string
		Settings json.RawMessage
	}
	require.NoError(t, json.Unmarshal(data, &seen))
	require.Equal(t, []string{"settings.json"}, seen.Files)
	require.NotContains(t, string(seen.Settings), "SECRET")
	require.JSONEq(t, `{"customModels": [{"model": "m", "displayName": "Scripted", "provider": "openai", "maxOutputTokens": 5, "noImageSupport": true,
"apiKey": "http://127.0.0.1:9", "baseUrl": "http://127.0.0.1:9", "extraHeaders": {"a": "http://127.0.0.1:9"}}, {"model": "n", "apiKey": "${KEY}", "baseUrl": ""}],
"sessionDefaultSettings": {"model": "custom:Scripted-0"}}`, string(seen.Settings))
	for _, line := range seen.Env {
		name, value, _ := strings.Cut(line, "=")
		require.NotContains(t, value, "SECRET", name)
		require.NotContains(t, value, "proxy", name)
		if strings.HasSuffix(name, "_BASE_URL") || strings.HasSuffix(name, "_ENDPOINT") {
			require.Equal(t, "http://127.0.0.1:9", value, name)
		}
	}
}

// A directory that cannot be written prevents sessions there.
func TestStoreOfTheProject(t *testing.T) {
	h := newHouse(t, "")
	dir := h.config.Dir
	h.write(".factory/sessions/"+strings.ReplaceAll(dir, string(filepath.Separator), "-"), "no directory")
	state := h.look("state")
	require.Equal(t, Failure, state.Result)
	require.Contains(t, state.Found, strings.ReplaceAll(dir, string(filepath.Separator), "-")+" is no directory")
}

// One cause, one failure.
func TestUnreadableHome(t *testing.T) {
	h := newHouse(t, "own")
	h.config.Home = h.write("file", "no directory")
	t.Setenv("HOME", h.config.Home)
	t.Setenv("USERPROFILE", h.config.Home)
	r := Run(t.Context(), h.config)
	require.Equal(t, 1, r.Count(Failure), shown(r))
	require.Zero(t, r.Count(Warning), shown(r))
	require.Equal(t, Failure, r.of(t, "home").Result)
	require.Contains(t, r.of(t, "home").Found, "is no directory")
	require.NotContains(t, shown(r), "A comma")
}

// If the doctor is interrupted, nothing remains, and skipped checks are reported as such, not as passed.
func TestEndedHalfWay(t *testing.T) {
	h := newHouse(t, "mute-later")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	h.config.Each = func(_ Report, c Check) {
		if c.ID == "start" {
			go end()
		}
	}
	r := Run(ctx, h.config)
	h.clean()
	require.Equal(t, OK, r.of(t, "start").Result)
	require.Equal(t, Skipped, r.of(t, "session").Result)
	require.Contains(t, r.of(t, "bridge").Found, "ended before")
	require.Len(t, r.Checks, len(table))
	require.NotContains(t, r.Verdict(), "Nothing")
	require.Contains(t, r.Verdict(), "The doctor was ended: 8 of 13 checks were not made.")
	text, err := r.JSON()
	require.NoError(t, err)
	var report struct {
		OK     bool
		NotRun []string `json:"notRun"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	require.False(t, report.OK)
	require.Equal(t, []string{"session", "login", "mcp", "hooks", "variables", "keep", "bridge", "model"}, report.NotRun)
}

// Broken settings are the cause, and reported before their effects.
func TestBrokenSettings(t *testing.T) {
	h := newHouse(t, "factory")
	file := h.write(".factory/settings.json", "{\n  \"customModels\": [\n    {\"model\": \"m\"}, // mine\n  ]\n}\n")
	r := h.report()
	require.Equal(t, 1, r.Count(Failure), shown(r))
	require.Equal(t, Failure, r.of(t, "settings").Result)
	require.Equal(t, file+" cannot be read: line 3, column 19: there is nothing behind this comma.", r.of(t, "settings").Found)
	require.Contains(t, r.of(t, "login").Found, "settings, own models")
	h.config.Model = "custom:m-0"
	require.Equal(t, 1, h.report().Count(Failure), "what is in the file is not known")
	h.config.Model = ""
	h.write(".factory/settings.json", "{\n  \"customModels\": {\n}}")
	require.Contains(t, h.look("settings").Found, `line 2, column 19: "customModels" is of a kind that droid does not take.`)
	h.write(".factory/settings.json", "{\n  \"customModels\": [")
	require.Contains(t, h.look("settings").Found, "line 2, column 20: the file ends before the JSON does.")
	h.write(".factory/settings.json", "{\n  \"customModels\": x")
	require.Contains(t, h.look("settings").Found, "line 2, column 19: this is no JSON.")
}

// The turn that is proposed is one that works.
func TestTurnWithAModel(t *testing.T) {
	h := newHouse(t, "both")
	h.config.Flags = []string{"--droid", "/my tools/droid"}
	require.Equal(t, "To ask it: `droid-acp smoke --droid '/my tools/droid' --model custom:Scripted-0 'Say hello.'`", h.report().of(t, "model").ToDo)
	h = newHouse(t, "factory")
	require.Empty(t, h.report().of(t, "model").ToDo, "no model answers without a login")
}

func TestHomeIsAWholePrefix(t *testing.T) {
	for text, want := range map[string]string{
		"/home/me/x and /home/me":          "~/x and ~",
		"(/home/me/x), /home/me: no":       "(~/x), ~: no",
		"/mnt/home/me/x":                   "/mnt/home/me/x",
		"/home/mel/x /home/me.bak/x":       "/home/mel/x /home/me.bak/x",
		"\"/home/me/x\" ends in /home/me.": "\"~/x\" ends in ~.",
		"`a '/home/me/my x'`":              "`a ~/'my x'`",
		"--droid=/home/me/x":               "--droid=/home/me/x",
		"/home/me/home/me/x":               "~/home/me/x",
	} {
		require.Equal(t, want, tilde(text, "/home/me"))
		require.Equal(t, text, tilde(text, "/home/\xff"), "no UTF-8")
	}
}

// No line is longer than the terminal, but for a word that is, and commands stay whole.
func TestWidths(t *testing.T) {
	c := Check{Name: "settings, own models", Result: Failure, Found: strings.Repeat("some words and more ", 20), ToDo: "Then run `droid-acp smoke --model custom:X 'Say hello.'` and look at /a/" + strings.Repeat("long/", 40)}
	for _, width := range []int{80, 100, 120} {
		text := shown(Report{Width: width, Checks: []Check{c}})
		require.Contains(t, text, "`droid-acp smoke --model custom:X 'Say hello.'`")
		for line := range strings.Lines(text) {
			if !strings.Contains(line, "/a/long") {
				require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), width)
			}
		}
	}
}
