package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// TestSetTitle: the title stands where the version that made the file looks for it, and
// nothing else changes: no other line, no order of fields, no time.
func TestSetTitle(t *testing.T) {
	for first, want := range map[string]string{
		// 0.99
		`{"type":"session_start","id":"x","title":"New Session","sessionTitle":"New Session","cwd":"/w","big":12345678901234567890}`: `{"type":"session_start","id":"x","title":"New Session","sessionTitle":"Mine \"own\"","cwd":"/w","big":12345678901234567890,"isSessionTitleManuallySet":true}`,
		`{"type":"session_start","sessionTitle":"A","isSessionTitleManuallySet":false,"sessionTitleAutoStage":"first_message"}`:      `{"type":"session_start","sessionTitle":"Mine \"own\"","isSessionTitleManuallySet":true,"sessionTitleAutoStage":"first_message"}`,
		// 0.225
		`{"type":"session_start","title":"hello"}`: `{"type":"session_start","title":"Mine \"own\"","isSessionTitleManuallySet":true}`,
		`{"type":"session_start"}`:                 `{"type":"session_start","title":"Mine \"own\"","isSessionTitleManuallySet":true}`,
	} {
		found := rewritten(t, first, want, func(s *Store) error { return s.SetTitle("x", `Mine "own"`) })
		require.Equal(t, `Mine "own"`, found.Title)
	}
}

// rewritten has change make the session x, whose first line is first, begin with want; nothing
// else of its file changes, and nothing is left beside it.
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

// TestSetTitleRefuses: what is no session stays as it is.
func TestSetTitleRefuses(t *testing.T) {
	root := t.TempDir()
	s := New(root, zap.NewNop())
	var missing *NotFoundError
	require.ErrorAs(t, s.SetTitle("x", "t"), &missing)
	require.ErrorAs(t, s.SetTitle("../x", "t"), &missing)
	file := filepath.Join(root, "x.jsonl")
	for _, content := range []string{"", "no json\n", `{"type":"other"}` + "\n", `["type"]` + "\n"} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		require.Error(t, s.SetTitle("x", "t"))
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, content, string(got))
	}
	all, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Len(t, all, 1)
}
