package droid

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// hooksOf is a list with one command.
func hooksOf(command string) string {
	return `[{"matcher":"Read","hooks":[{"type":"command","command":"` + command + `"}]}]`
}

// Which of several files counts was seen on 0.99.
func TestUserHooks(t *testing.T) {
	both := func(name string) string {
		return `{"hooks":{"PreToolUse":` + hooksOf(name+"Pre") + `,"PostToolUse":` + hooksOf(name+"Post") + `}}`
	}
	cases := []struct {
		name                 string
		cwd, mid, root, user string // settings.json, "" for none
		noGit                bool
		pre, post            string // the command that counts
	}{
		{name: "none"},
		{name: "the user's", user: both("user"), pre: "userPre", post: "userPost"},
		{name: "the nearest", cwd: both("cwd"), mid: both("mid"), root: both("root"), user: both("user"), pre: "cwdPre", post: "cwdPost"},
		{name: "a parent", mid: both("mid"), root: both("root"), user: both("user"), pre: "midPre", post: "midPost"},
		{name: "the root of the repository", root: both("root"), user: both("user"), pre: "rootPre", post: "rootPost"},
		{name: "no repository", root: both("root"), user: both("user"), noGit: true, pre: "userPre", post: "userPost"},
		{name: "each event by itself", cwd: `{"hooks":{"PostToolUse":` + hooksOf("cwdPost") + `}}`,
			root: `{"hooks":{"PreToolUse":` + hooksOf("rootPre") + `}}`, user: both("user"), pre: "rootPre", post: "cwdPost"},
		{name: "an empty list", cwd: `{"hooks":{"PreToolUse":[]}}`, user: both("user"), pre: "userPre", post: "userPost"},
		{name: "null for a list", cwd: `{"hooks":{"PreToolUse":null}}`, user: both("user"), pre: "userPre", post: "userPost"},
		{name: "null for the hooks", cwd: `{"hooks":null}`, root: both("root"), pre: "rootPre", post: "rootPost"},
		{name: "no hooks", cwd: `{"theme":"x"}`, user: both("user"), pre: "userPre", post: "userPost"},
		{name: "an event twice", cwd: `{"hooks":{"PreToolUse":` + hooksOf("one") + `,"PreToolUse":` + hooksOf("two") + `}}`, pre: "two"},
		{name: "a key in capitals is another", cwd: `{"Hooks":{"PreToolUse":` + hooksOf("one") + `}}`, user: both("user"), pre: "userPre", post: "userPost"},
		{name: "comments", cwd: `/* a */ {"x": "http://y", "hooks": // b` + "\n" + `{"PreToolUse": /* "*/ ` + hooksOf("cwdPre") + `}} // end`, pre: "cwdPre"},
		{name: "other events, whatever they are", cwd: `{"hooks":{"Stop":5,"PreToolUse":` + hooksOf("cwdPre") + `}}`, pre: "cwdPre"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			home := realDir(t)
			root := filepath.Join(home, "work")
			cwd := filepath.Join(root, "mid", "cwd")
			require.NoError(t, os.MkdirAll(cwd, 0o755))
			if !c.noGit {
				require.NoError(t, os.WriteFile(filepath.Join(root, ".git"), nil, 0o644))
			}
			for dir, text := range map[string]string{cwd: c.cwd, filepath.Dir(cwd): c.mid, root: c.root, home: c.user} {
				if text != "" {
					writeSettings(t, dir, text)
				}
			}
			hooks, err := userHooks(cwd, home, []string{"PreToolUse", "PostToolUse"})
			require.NoError(t, err)
			for event, command := range map[string]string{"PreToolUse": c.pre, "PostToolUse": c.post} {
				if command == "" {
					require.Empty(t, hooks[event], event)
					continue
				}
				require.JSONEq(t, hooksOf(command), listOf(t, hooks[event]), event)
			}
		})
	}
}

func listOf(t *testing.T, list []json.RawMessage) string {
	t.Helper()
	text, err := json.Marshal(list)
	require.NoError(t, err)
	return string(text)
}

// realDir is a directory without links in its path.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// A link is followed before parents are examined; the parents of the link do not count.
func TestUserHooksBehindALink(t *testing.T) {
	home := realDir(t)
	repository := filepath.Join(home, "real", "repository")
	require.NoError(t, os.MkdirAll(filepath.Join(repository, "sub"), 0o755))
	for dir, command := range map[string]string{repository: "real", filepath.Join(home, "links"): "link"} {
		writeSettings(t, dir, `{"hooks":{"PreToolUse":`+hooksOf(command)+`}}`)
		require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	}
	link := filepath.Join(home, "links", "sub")
	if err := os.Symlink(filepath.Join(repository, "sub"), link); err != nil {
		t.Skip("links cannot be made here")
	}
	hooks, err := userHooks(link, home, []string{"PreToolUse"})
	require.NoError(t, err)
	require.JSONEq(t, hooksOf("real"), listOf(t, hooks["PreToolUse"]))
}

func writeSettings(t *testing.T, dir, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".factory"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".factory", "settings.json"), []byte(text), 0o600))
}

// A repository may have the user's directory in it: its hooks come before the user's (seen on 0.99).
func TestUserHooksBelowARepository(t *testing.T) {
	root := realDir(t)
	home := filepath.Join(root, "home")
	cwd := filepath.Join(home, "work")
	require.NoError(t, os.MkdirAll(cwd, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, ".git"), nil, 0o644))
	writeSettings(t, root, `{"hooks":{"PreToolUse":`+hooksOf("root")+`}}`)
	writeSettings(t, home, `{"hooks":{"PreToolUse":`+hooksOf("user")+`}}`)
	hooks, err := userHooks(cwd, home, []string{"PreToolUse"})
	require.NoError(t, err)
	require.JSONEq(t, hooksOf("root"), listOf(t, hooks["PreToolUse"]))
}

// A file in the place of a .factory has no hooks.
func TestUserHooksWithoutADirectory(t *testing.T) {
	home := realDir(t)
	require.NoError(t, os.WriteFile(filepath.Join(home, ".factory"), []byte("x"), 0o600))
	hooks, err := userHooks(home, home, []string{"PreToolUse"})
	require.NoError(t, err)
	require.Empty(t, hooks["PreToolUse"])
}

// Anything that droid may interpret differently is an error.
func TestUnparsableUserHooks(t *testing.T) {
	for name, text := range map[string]string{
		"half a file":                 `{"hooks":`,
		"an empty file":               ``,
		"a list":                      `[]`,
		"a comma too many":            `{"hooks":{"PreToolUse":` + hooksOf("x") + `,},}`,
		"a byte order mark":           "\ufeff" + `{"hooks":{}}`,
		"a comment that does not end": `{} /* `,
		"hooks that are a text":       `{"hooks":"x"}`,
		"a list that is a text":       `{"hooks":{"PreToolUse":"x"}}`,
		"a matcher that is a number":  `{"hooks":{"PreToolUse":[{"matcher":5,"hooks":[]}]}}`,
		"commands that are a text":    `{"hooks":{"PreToolUse":[{"hooks":"no"}]}}`,
		"an entry that is a text":     `{"hooks":{"PreToolUse":["no"]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			home := realDir(t)
			cwd := filepath.Join(home, "work")
			writeSettings(t, cwd, text)
			_, err := userHooks(cwd, home, []string{"PreToolUse"})
			require.ErrorContains(t, err, filepath.Join(cwd, ".factory", "settings.json"))
		})
	}
	home := realDir(t)
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".factory", "settings.json"), 0o755))
	_, err := userHooks(home, home, nil)
	require.ErrorContains(t, err, "no regular file")
	_, err = userHooks(filepath.Join(home, "gone"), home, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = userHooks("relative", home, nil)
	require.Error(t, err)
	_, err = userHooks(home, "", nil)
	require.Error(t, err)
}

func TestHomeOf(t *testing.T) {
	require.Equal(t, "", Home([]string{"PATH=/bin"}))
	require.Equal(t, "/over", Home([]string{envHome + "=/over", "PATH=/bin"}))
	require.Equal(t, "/two", Home([]string{envHome + "=/one", envHome + "=/two"}))
}
