package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// TestSetCWD checks that the directory is stored where droid reads it, and that nothing else changes.
func TestSetCWD(t *testing.T) {
	dir := abs("/new")
	name := fmt.Sprintf("%q", dir)
	for first, want := range map[string]string{
		`{"type":"session_start","cwd":"/w","big":12345678901234567890}`: `{"type":"session_start","cwd":"/w","big":12345678901234567890,"lastCwd":` + name + `}`,
		`{"type":"session_start","lastCwd":"/x","cwd":"/w","a":1}`:       `{"type":"session_start","lastCwd":` + name + `,"cwd":"/w","a":1}`,
		`{"type":"session_start","lastCwd":"/x","cwd":` + name + `}`:     `{"type":"session_start","cwd":` + name + `}`,
		`{"type":"session_start"}`:                                       `{"type":"session_start","lastCwd":` + name + `}`,
	} {
		found := rewritten(t, first, want, func(s *Store) error { return s.SetCWD("x", dir) })
		require.Equal(t, dir, found.CWD)
	}
}

// rewritten checks that change makes the session x, whose first line is first, begin with want; nothing else of its file changes, and no
// other file remains.
func rewritten(t *testing.T, first, want string, change func(*Store) error) Session {
	t.Helper()
	const rest = `{"type":"message","id":"1"}` + "\n" + `{"half`
	s := newStore(t)
	file := s.write("-w", "x.jsonl", first+"\n"+rest, sometime)
	require.NoError(t, change(s.Store))
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want+"\n"+rest, string(got))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.True(t, info.ModTime().Equal(sometime))
	require.Equal(t, []string{"-w/x.jsonl"}, filesIn(t, s.root), "nothing is left behind")
	found, err := s.Find("x")
	require.NoError(t, err)
	return found
}

// TestSetCWDRefuses checks that a file that is not a session stays unchanged.
func TestSetCWDRefuses(t *testing.T) {
	root := t.TempDir()
	s := New(root, zap.NewNop())
	var missing *NotFoundError
	require.ErrorAs(t, s.SetCWD("x", abs("/new")), &missing)
	require.ErrorAs(t, s.SetCWD("../x", abs("/new")), &missing)
	file := filepath.Join(root, "x.jsonl")
	for _, content := range []string{"", "no json\n", `{"type":"other"}` + "\n", `["type"]` + "\n"} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		require.Error(t, s.SetCWD("x", abs("/new")))
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, content, string(got))
	}
	all, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Len(t, all, 1)
}

// TestListOfMovedSessions: an old session that moved is listed where it is, though the
// newest ones of its project stayed.
func TestListOfMovedSessions(t *testing.T) {
	s := newStore(t)
	old, tree := abs("/project"), abs("/tree")
	for n := range 12 {
		s.session(fmt.Sprint("s", n), old, n)
	}
	require.NoError(t, s.SetCWD("s3", tree))
	require.Equal(t, []string{"s3"}, ids(s.list(tree, 0)))
	require.NotContains(t, ids(s.list(old, 0)), "s3")
	require.Len(t, s.list(old, 0), 11)
	for n := range sampleAll {
		s.session(fmt.Sprint("more", n), old, 100+n)
	}
	require.Empty(t, s.list(tree, 0), "in a large store that is not looked for")
	require.NoError(t, s.SetCWD(fmt.Sprint("more", sampleAll-1), tree))
	require.Len(t, s.list(tree, 0), 2, "unless a newest one of its project is there, too")
}
