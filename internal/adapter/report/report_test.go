package report

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	r := Report{
		Session: "s-1", Time: time.Unix(1_700_000_000, 0).UTC(), Why: "droid ended unexpectedly.", Status: "- droid-acp 1.0\n", Settings: []string{"files disk"},
		Log: []string{"one", "two"}, Stderr: []string{"error: sk-123456 is invalid", "in /home/me/.factory/x"}, Messages: []string{"10:00 editor < {}"},
	}
	text := r.Text([]string{"FACTORY_API_KEY=sk-123456", "A_TOKEN=ab", "USER=error"}, "/home/me")
	require.Equal(t, `Report of droid-acp, 2023-11-14T22:13:20Z
It has no prompts, no answers, and no texts of files and tools: ‹12:0a1b2c› stands for a text of 12 bytes, and for the same text everywhere.
Read it before you send it.

== What failed
droid ended unexpectedly.

== Status
- droid-acp 1.0

== Settings
files disk

== Log
one
two

== What the last droid that ended by itself wrote to stderr
error: [redacted] is invalid
in ~/.factory/x

== Messages: < to droid-acp, > from droid-acp
10:00 editor < {}
`, text)
	r.Conversation = "[]"
	text = r.Text(nil, "")
	require.Contains(t, text, "It has the conversation")
	require.NotContains(t, text, "no prompts")
	require.True(t, strings.HasSuffix(text, "== Conversation\n[]\n"))
}

// The home directory is replaced wherever it is named, and no other directory is.
func TestHomeInReports(t *testing.T) {
	for text, want := range map[string]string{
		"in /home/me/x and /home/me":           "in ~/x and ~",
		`{"cwd":"/home/me","at":"/home/me/a"}`: `{"cwd":"~","at":"~/a"}`,
		"/home/me:/home/me/bin /home/me.":      "~:~/bin ~.",
		"file:///home/me/x":                    "file://~/x",
		"/home/me2 /home/me-old /home/me.d/x":  "/home/me2 /home/me-old /home/me.d/x",
		"/mnt/home/me/x":                       "/mnt/home/me/x",
	} {
		require.Contains(t, Report{Stderr: []string{text}}.Text(nil, "/home/me"), "\n"+want+"\n", text)
	}
	require.Contains(t, Report{Stderr: []string{"/home/\xff/x"}}.Text(nil, "/home/\xff"), "\n~/x\n", "no UTF-8")
	text := Report{Stderr: []string{`C:\Users\me`, `{"at":"C:\\Users\\me\\x"}`}}.Text(nil, `C:\Users\me`)
	require.Contains(t, text, "\n~\n{\"at\":\"~\\\\x\"}\n")
}

// droid's stderr may contain a key of the user's settings.
func TestKeyOfSettings(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, ".factory"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".factory", "settings.json"), []byte(`{"customModels":[{"apiKey":"planted-key"}]}`), 0o600))
	text := Report{Stderr: []string{"the model refused planted-key"}}.Text(nil, home)
	require.Contains(t, text, "the model refused")
	require.NotContains(t, text, "planted-key")
}

// A directory's name is no pattern: reports in others stay, and those in it are removed.
func TestWriteInADirectoryWithSigns(t *testing.T) {
	for _, name := range []string{"[ab]", "a[b"} {
		parent := t.TempDir()
		for i := range kept + 2 {
			for _, dir := range []string{"a", name} {
				_, err := Report{Session: "s", Time: time.Unix(int64(i), 0)}.WriteIn(filepath.Join(parent, dir))
				require.NoError(t, err)
			}
		}
		for _, dir := range []string{"a", name} {
			found, err := os.ReadDir(filepath.Join(parent, dir))
			require.NoError(t, err)
			require.Len(t, found, kept, dir)
		}
	}
}

// Reports are private, none replaces another, and the oldest are removed.
func TestWriteIn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "reports")
	first := ""
	for i := range kept + 5 {
		path, err := Report{Session: "s", Time: time.Unix(int64(i), 0)}.WriteIn(dir)
		require.NoError(t, err)
		if i == 5 {
			first = path
		}
	}
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, found, kept)
	require.Equal(t, filepath.Base(first), found[0].Name())
	info, err := os.Stat(first)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
	require.Error(t, Report{}.WriteFile(first), "it exists")
	_, err = Report{}.WriteIn(filepath.Join(first, "no-directory"))
	require.Error(t, err)
}
