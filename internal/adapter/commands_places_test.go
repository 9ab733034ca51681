package adapter

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// commandRoom is a home and a project of a test's own.
type commandRoom struct {
	t           testing.TB
	home, works string
}

func newCommandRoom(t *testing.T) commandRoom {
	root := t.TempDir()
	r := commandRoom{t, filepath.Join(root, "me"), filepath.Join(root, "we [ird]*? {x}.ünï")}
	require.NoError(t, os.MkdirAll(r.home, 0o755))
	require.NoError(t, os.MkdirAll(r.works, 0o755))
	t.Setenv("HOME", r.home)
	t.Setenv("USERPROFILE", r.home)
	return r
}

func (r commandRoom) write(path, text string) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o600))
}

func (r commandRoom) project(name, text string) {
	r.t.Helper()
	r.write(filepath.Join(r.works, ".factory", "commands", name), text)
}

func TestCommandName(t *testing.T) {
	for name, want := range map[string]string{
		"greet": "greet", "With Space": "with-space", "dot.ted": "dot-ted", "UPPER": "upper", "a_b": "a_b", "a--b": "a-b", "-x-": "-x-",
		"__init__": "__init__", "100%": "100-", "it's": "it-s", ".hidden": "-hidden", "Ünï cödé": "-n-c-d-", "trail ": "trail-",
		"日本": "日本", "日 本": "日-本", "...": "...", "": "", " ": "",
	} {
		require.Equal(t, want, commandName(name), name)
	}
}

// The files are found where droid finds them, under the names that droid gives them.
func TestCommandPlaces(t *testing.T) {
	r := newCommandRoom(t)
	repo, cwd := r.works, filepath.Join(r.works, "a", "b")
	require.NoError(t, os.MkdirAll(filepath.Join(repo, ".git"), 0o755))
	for path, text := range map[string]string{
		filepath.Join(cwd, ".factory/commands/dup.md"):                     "here",
		filepath.Join(cwd, ".factory/commands/aa/dup.md"):                  "nested",
		filepath.Join(cwd, ".factory/commands/Sub Dir/deep.er/Nest Ed.MD"): "deep",
		filepath.Join(cwd, ".factory/commands/日本.md"):                      "cjk",
		filepath.Join(cwd, ".factory/commands/program.md"):                 "#!/bin/sh\necho no text",
		filepath.Join(cwd, ".factory/commands/other.txt"):                  "no command",
		filepath.Join(cwd, ".agents/commands/agents.md"):                   "agents",
		filepath.Join(repo, "a/.factory/commands/mid.md"):                  "mid",
		filepath.Join(repo, ".factory/commands/root.md"):                   "root",
		filepath.Join(repo, ".factory/commands/dup.md"):                    "root's",
		filepath.Join(filepath.Dir(repo), ".factory/commands/out.md"):      "outside of the repository",
		filepath.Join(r.home, ".agent/commands/mine.md"):                   "mine",
		filepath.Join(r.home, ".factory/commands/dup.md"):                  "the user's",
	} {
		r.write(path, text)
	}
	files := map[string]commandFile{}
	require.Len(t, commandFiles(cwd, files), 7)
	require.Equal(t, map[string]commandFile{
		"dup": {"here"}, "nest-ed": {"deep"}, "日本": {"cjk"}, "agents": {"agents"}, "mid": {"mid"}, "root": {"root"}, "mine": {"mine"},
	}, files)

	require.NoError(t, os.Remove(filepath.Join(repo, ".git")))
	files = map[string]commandFile{}
	commandFiles(cwd, files)
	require.Equal(t, []string{"agents", "dup", "mine", "nest-ed", "日本"}, slices.Sorted(maps.Keys(files)), "no repository, no parents")
}

// A directory that leads into itself ends.
func TestCommandLoops(t *testing.T) {
	r := newCommandRoom(t)
	r.project("a.md", "a")
	if err := os.Symlink(".", filepath.Join(r.works, ".factory", "commands", "loop")); err != nil {
		t.Skip(err) // Windows without the right to do it
	}
	require.Len(t, commandFiles(r.works, map[string]commandFile{}), 1)
}

func TestFrontMatterOverLines(t *testing.T) {
	fields, body := frontMatter("---\ndescription: >-\n  one\n  two\n\nargument-hint: '[a] [b]'\n---\nBody\n")
	require.Equal(t, map[string]string{"description": "one two", "argument-hint": "[a] [b]"}, fields)
	require.Equal(t, "Body\n", body)
}
