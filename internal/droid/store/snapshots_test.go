package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSnapshots: those from the message on, in their order; a text that droid has dropped is not known, and no name leads out of the store.
func TestSnapshots(t *testing.T) {
	const id = "11111111-2222-3333-4444-555555555555"
	home := t.TempDir()
	s := New(filepath.Join(home, "sessions"), nil)
	_, err := s.Snapshots(id, "m")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = s.Snapshots("../x", "m")
	require.Error(t, err)
	_, err = None().Snapshots(id, "m")
	require.Error(t, err)

	sum := sha256.Sum256([]byte("old\n"))
	hash := hex.EncodeToString(sum[:])
	write := func(path, text string) {
		path = filepath.Join(home, "snapshots", path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(filepath.Join("content", hash[:2], hash[2:]), "old\n")
	manifest := filepath.Join("manifests", id+".snapshots.json")
	write(manifest, fmt.Sprintf(`{"version":1,"boundaries":[
		{"messageId":"a","files":[{"filePath":"/w/before","contentHash":%[1]q,"toolCallId":"c0"}],"deletions":[],"creations":[]},
		{"messageId":"b","files":[],"creations":[{"filePath":"/w/made","createdAt":1,"toolCallId":"c1"}]},
		{"messageId":"c","files":[{"filePath":"/w/kept","contentHash":%[1]q,"toolCallId":"c2"}]},
		{"messageId":"b","files":[{"filePath":"/w/gone","contentHash":%[2]q,"toolCallId":"c3"},{"filePath":"/w/odd","contentHash":"../../x","toolCallId":"c4"}]}]}`,
		hash, strings.Repeat("0", 64)))
	old := "old\n"
	found, err := s.Snapshots(id, "b")
	require.NoError(t, err)
	require.Equal(t, []Snapshot{
		{Call: "c1", Path: "/w/made", Known: true}, {Call: "c2", Path: "/w/kept", Text: &old, Known: true},
		{Call: "c3", Path: "/w/gone"}, {Call: "c4", Path: "/w/odd"},
	}, found)
	none, err := s.Snapshots(id, "d")
	require.NoError(t, err)
	require.Empty(t, none)
	write(manifest, `{"boundaries":[{`)
	_, err = s.Snapshots(id, "b")
	require.Error(t, err)
}
