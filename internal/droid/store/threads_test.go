package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/sys/files"
)

func threadsOf(t *testing.T, s *Store) *Threads {
	return NewThreads(func() *Store { return s }, files.NewCallLimiter(16, time.Minute), zap.NewNop())
}

// stored is a store with these sessions, each with a title.
func storeWith(t *testing.T, ids ...string) *Store {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "-w"), 0o700))
	for _, id := range ids {
		line := fmt.Sprintf(`{"type":"session_start","id":%q,"title":"Title of %s","sessionTitle":"Title of %s","isSessionTitleManuallySet":true,"cwd":"/w"}`+"\n", id, id, id)
		require.NoError(t, os.WriteFile(filepath.Join(root, "-w", id+".jsonl"), []byte(line), 0o600))
	}
	return New(root, nil)
}

// A thread continues in the session that droid made of its newest one, for each agent that reads the store, until that is reverted.
func TestThreadGoesOn(t *testing.T) {
	s := storeWith(t, "a", "b", "c")
	threads := threadsOf(t, s)
	goOn := func(from, to string) Successor {
		n := threads.Successor(t.Context(), from)
		n.Made(to, LinkCompact)
		return n
	}
	first := goOn("a", "b")
	require.Equal(t, "Title of a", first.Title)
	require.Empty(t, first.Lost())
	require.Equal(t, " `/fork before` reopens the conversation as it was.", first.Hint())
	goOn("b", "c")
	another := threadsOf(t, s)
	for _, id := range []string{"a", "b", "c"} {
		ids, err := another.IDs(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c"}, ids, id)
	}
	require.NoError(t, threads.SetFollowUp("c", "queue"))
	require.Equal(t, "queue", another.FollowUp(t.Context(), []string{"a", "b", "c"}))
	threads.MarkStays("b")
	ids, err := another.IDs(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, ids, "it did not go on in c after all")
}

// If nothing can be recorded, the user is shown the consequence: droid has made the session anyway.
func TestUnwritableLinksAreReported(t *testing.T) {
	threads := threadsOf(t, Unknown(errors.New("there is no home")))
	n := threads.Successor(t.Context(), "a")
	n.Made("b", LinkRewind)
	require.Equal(t, "b", n.ID)
	for _, words := range []string{"could not be written down", "there is no home", "the session `b`"} {
		require.Contains(t, n.Hint(), words)
	}
	require.Error(t, threads.SetFollowUp("a", "steer"))
	require.Empty(t, threads.FollowUp(t.Context(), []string{"a"}))
	require.Empty(t, threads.Summary(t.Context(), "a"))
	ids, err := threads.IDs(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, ids)
}
