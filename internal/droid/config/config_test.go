package config

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A worktree shares its repository's directory, and a submodule has its own; a directory that only claims so stands for itself.
func TestCommonGitDir(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(name ...string) string { return filepath.Join(append([]string{base}, name...)...) }
	git := func(dir string, args ...string) {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@x", "-c", "protocol.file.allow=always"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for _, name := range []string{"main", "module"} {
		git(base, "init", "-q", name)
		git(at(name), "commit", "-q", "--allow-empty", "-m", "x")
	}
	git(at("main"), "worktree", "add", "-q", at("tree"))
	git(at("main"), "submodule", "add", "-q", at("module"), "sub")
	git(base, "clone", "-q", "--bare", at("main"), "bare.git")
	git(at("bare.git"), "worktree", "add", "-q", at("baretree"))
	for root, want := range map[string]string{
		"main": at("main", ".git"), "tree": at("main", ".git"), "baretree": at("bare.git"),
		"main/sub": at("main", ".git", "modules", "sub"), "nothing": at("nothing", ".git"),
	} {
		require.Equal(t, want, CommonGitDir(at(filepath.FromSlash(root))), root)
	}
	liar := at("liar")
	for name, text := range map[string]string{"own/gitdir": "../.git\n", "own/commondir": at("main", ".git") + "\n", "worktrees/own/gitdir": "../../.git\n", "worktrees/own/commondir": at("main", ".git")} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(liar, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(liar, name), []byte(text), 0o644))
	}
	line := func(path string) string {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(data)
	}
	for _, claim := range []string{line(at("tree", ".git")), "gitdir: own", "gitdir: worktrees/own", "gitdir: " + at("main", ".git"), "gitdir: " + at("main", ".git", "modules", "sub"), "gitdir: " + at("bare.git")} {
		require.NoError(t, os.WriteFile(filepath.Join(liar, ".git"), []byte(claim), 0o644))
		require.Equal(t, filepath.Join(liar, ".git"), CommonGitDir(liar), claim)
	}
}

func TestWithoutComments(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"//b /* c */"} // d`: `{"a":"//b /* c */"}     `,
		`{"a\"//":1}//`:            `{"a\"//":1}  `,
		"// a\r\n1":                "    \r\n1",
		"1 /* a\n* / **/ 2":        "1     \n        2",
		`1 /* a`:                   `1 /* a`,
		`"no end // `:              `"no end // `,
		`/`:                        `/`,
		`"\`:                       `"\`,
		`/*/ 1`:                    `/*/ 1`,
	} {
		require.Equal(t, want, string(WithoutComments([]byte(in))), in)
	}
}

// FuzzWithoutComments checks that JSON stays unchanged, that the result has the same length, and that comments at its ends have no effect.
func FuzzWithoutComments(f *testing.F) {
	for _, seed := range []string{`{"a":"//b"}`, `/* x */ {"a":"/*"} // y`, `"\"//"`, `[1,/**/2]`, `/*`, `"\`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out := WithoutComments(data)
		require.Len(t, out, len(data))
		require.Equal(t, out, WithoutComments(out), "there is no comment left")
		if json.Valid(data) {
			require.Equal(t, data, out)
			around := append(append([]byte("/* // \" */"), data...), "// \" /* x"...)
			require.True(t, json.Valid(WithoutComments(around)))
		}
	})
}
