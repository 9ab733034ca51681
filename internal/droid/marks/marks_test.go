package marks

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"droid-acp/internal/droid/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Another process's note is heard, its second one, too; nothing is heard after the end.
func TestAnotherNotes(t *testing.T) {
	root := filepath.Join(t.TempDir(), "sessions")
	mine, other := store.New(root, zap.NewNop()), store.New(root, zap.NewNop())
	release, err := mine.MarkOpen("first")
	require.NoError(t, err)
	t.Cleanup(release)
	heard, w := make(chan string, 100), Watch{}
	noted := func(name string) { heard <- name }
	require.NoError(t, w.Start(Begin, mine.Marks(), noted))
	require.NoError(t, w.Start(Begin, mine.Marks(), noted), "it watches already")
	for range 2 {
		release, err := other.MarkOpen("first")
		require.NoError(t, err)
		t.Cleanup(release)
		for name := ""; name != "first"; {
			select {
			case name = <-heard:
			case <-time.After(10 * time.Second):
				t.Fatal("it was not heard")
			}
		}
	}
	w.End()
	for len(heard) > 0 {
		<-heard
	}
	release, err = other.MarkOpen("second")
	require.NoError(t, err)
	t.Cleanup(release)
	require.Empty(t, heard)
	w.End()
}

// What cannot be watched is an error, and ends nothing; who comes after the end begins nothing.
func TestNoWatch(t *testing.T) {
	dir := t.TempDir()
	var w Watch
	require.Error(t, w.Start(Begin, filepath.Join(dir, "none"), nil))
	w.End()
	w = Watch{}
	require.NoError(t, w.Start(nil, dir, nil))
	w.End()
	w = Watch{}
	w.End()
	require.NoError(t, w.Start(Begin, dir, nil))
	ended := false
	w = Watch{}
	require.NoError(t, w.Start(func(string, func(string)) (func(), error) {
		w.End()
		return func() { ended = true }, nil
	}, dir, nil))
	require.True(t, ended, "the end came while it began")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o600))
}
