package commands

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/protocol"
)

// room is a home and a project of a test's own.
type room struct {
	t           *testing.T
	home, works string
}

func newRoom(t *testing.T) room {
	root := t.TempDir()
	r := room{t, filepath.Join(root, "me [at] home*"), filepath.Join(root, "we [ird]*? {x}.ünï")}
	t.Setenv("HOME", r.home)
	t.Setenv("USERPROFILE", r.home)
	return r
}

func (r room) write(path, text string) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o600))
}

// The first file of a name counts, and files may come from Windows.
func TestFilesAreRead(t *testing.T) {
	r := newRoom(t)
	project, user := filepath.Join(r.works, ".factory", "commands"), filepath.Join(r.home, ".factory", "commands")
	r.write(filepath.Join(project, "greet.md"), "\ufeff---\r\ndescription: \"Greets\"\r\nargument-hint: <name>\r\n---\r\n\r\nHello $ARGUMENTS\r\nBye\r\n")
	r.write(filepath.Join(project, "twice.md"), "The project's")
	r.write(filepath.Join(project, "not.txt"), "no command")
	r.write(filepath.Join(user, "twice.md"), "The user's")
	r.write(filepath.Join(user, "plain.md"), "Just do it")
	require.NoError(t, os.Mkdir(filepath.Join(project, "dir.md"), 0o755))
	require.Equal(t, Files{
		commands: []protocol.AvailableCommand{
			{Name: "greet", Description: "Greets", Input: &protocol.CommandInput{Hint: "<name>"}},
			{Name: "twice", Description: "The project's", Input: &protocol.CommandInput{Hint: "arguments"}},
			{Name: "plain", Description: "Just do it", Input: &protocol.CommandInput{Hint: "arguments"}},
		},
		texts: map[string]string{"greet": "Hello $ARGUMENTS\nBye\n", "twice": "The project's", "plain": "Just do it"},
	}, ReadFiles(r.works))
}

// The files are found where droid finds them, under the names that droid gives them.
func TestPlaces(t *testing.T) {
	r := newRoom(t)
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
	found := ReadFiles(cwd)
	require.Len(t, found.commands, 7)
	require.Equal(t, map[string]string{
		"dup": "here", "nest-ed": "deep", "日本": "cjk", "agents": "agents", "mid": "mid", "root": "root", "mine": "mine",
	}, found.texts)

	require.NoError(t, os.Remove(filepath.Join(repo, ".git")))
	require.Equal(t, []string{"agents", "dup", "mine", "nest-ed", "日本"}, slices.Sorted(maps.Keys(ReadFiles(cwd).texts)), "no repository, no parents")
}

// A directory that leads into itself ends.
func TestLoops(t *testing.T) {
	r := newRoom(t)
	r.write(filepath.Join(r.works, ".factory", "commands", "a.md"), "a")
	if err := os.Symlink(".", filepath.Join(r.works, ".factory", "commands", "loop")); err != nil {
		t.Skip(err) // Windows without the right to do it
	}
	require.Len(t, ReadFiles(r.works).commands, 1)
}

func TestFrontMatter(t *testing.T) {
	fields, body := frontMatter("---\ndescription: \"Greets\"\nargument-hint: <name>\n---\nHello $ARGUMENTS\n")
	require.Equal(t, map[string]string{"description": "Greets", "argument-hint": "<name>"}, fields)
	require.Equal(t, "Hello $ARGUMENTS\n", body)
	_, body = frontMatter("---\nnot closed")
	require.Equal(t, "---\nnot closed", body)
}

func TestFrontMatterOverLines(t *testing.T) {
	fields, body := frontMatter("---\ndescription: >-\n  one\n  two\n\nargument-hint: '[a] [b]'\n---\nBody\n")
	require.Equal(t, map[string]string{"description": "one two", "argument-hint": "[a] [b]"}, fields)
	require.Equal(t, "Body\n", body)
}
