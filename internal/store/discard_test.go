package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDiscard(t *testing.T) {
	s := newStore(t)
	s.session("mine", abs("/w"), 1)
	kept := filesIn(t, s.root)
	s.write("-tmp-look", "look"+transcript, start225("look", abs("/tmp/look"), "", nil), sometime)
	s.write("-tmp-look", "look.settings.json", "{}", sometime)
	require.NoError(t, os.Mkdir(filepath.Join(s.root, "look"), 0o700))

	require.NoError(t, s.Discard("look"))
	require.Equal(t, kept, filesIn(t, s.root))
	require.NoDirExists(t, filepath.Join(s.root, "-tmp-look"))
	require.NoDirExists(t, filepath.Join(s.root, "look"))
	require.Empty(t, s.bins(), "the trash is for what somebody may want back")
	require.NoError(t, s.Discard("look"), "again")

	require.ErrorIs(t, s.Discard("mine"), errSpoken)
	require.Error(t, s.Discard("../mine"))
	require.Equal(t, kept, filesIn(t, s.root), "a conversation is never destroyed")

	dir := filepath.Base(filepath.Dir(s.session("other", abs("/x"), 2)))
	s.write(dir, "second"+transcript, start225("second", abs("/x"), "", nil), sometime)
	require.NoError(t, s.Discard("second"))
	require.FileExists(t, filepath.Join(s.root, dir, "other"+transcript))
}
