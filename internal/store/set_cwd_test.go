package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// TestSetCWD: the directory stands where droid looks for it, and nothing else changes.
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
	s := New(t.TempDir(), zap.NewNop())
	var missing *NotFoundError
	require.ErrorAs(t, s.SetCWD("x", dir), &missing)
	require.NoError(t, os.WriteFile(filepath.Join(s.root, "x.jsonl"), []byte(`{"type":"other"}`+"\n"), 0o600))
	require.ErrorContains(t, s.SetCWD("x", dir), "writing the directory of session x: no session")
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
