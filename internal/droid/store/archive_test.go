package store

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/sys/files"
)

func (s testStore) archived(filter ArchiveFilter, limit int) (got []string) {
	s.t.Helper()
	for q := (Query{Limit: limit, Archived: filter}); ; {
		page, err := s.List(s.t.Context(), q)
		require.NoError(s.t, err)
		for _, one := range page.Sessions {
			require.Equal(s.t, filter == OnlyArchived, one.Archived && filter != IncludeArchived, one.ID)
		}
		got = append(got, ids(page.Sessions)...)
		if page.NextCursor == "" {
			return got
		}
		require.Len(s.t, page.Sessions, limit, "a page with a cursor is full")
		q.Cursor = page.NextCursor
	}
}

// The filter applies before pages are made, so that only the last page may be short; the order is that of all sessions. The sessions'
// files, and thus their times, stay unchanged.
func TestArchive(t *testing.T) {
	s := newStore(t)
	var all, hidden, visible []string
	for i := range 20 {
		id := uuidLike(i)
		s.session(id, abs("/w"), 100-i)
		if all = append(all, id); i%5 < 4 {
			hidden = append(hidden, id)
		} else {
			visible = append(visible, id)
		}
	}
	require.NoError(t, s.SetArchived(true, hidden...))
	require.NoError(t, s.SetArchived(true, hidden[0]), "again")
	for _, limit := range []int{1, 3, 50} {
		require.Equal(t, visible, s.archived("", limit))
		require.Equal(t, visible, s.archived(ExcludeArchived, limit))
		require.Equal(t, hidden, s.archived(OnlyArchived, limit))
		require.Equal(t, all, s.archived(IncludeArchived, limit))
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(s.archivePath())
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	require.NoFileExists(t, s.archivePath()+".lock")
	require.NoError(t, s.SetArchived(false, hidden[1:]...))
	require.Equal(t, hidden[:1], s.archived(OnlyArchived, 5))
	require.NoError(t, s.Delete(hidden[0]))
	require.Empty(t, s.archived(OnlyArchived, 5))
	all2, err := s.readArchive()
	require.NoError(t, err)
	require.Empty(t, all2.Archived, "if the user moves it back from the trash, it is listed")
}

// A thread is archived as a whole, and stays so in the sessions that droid adds to it.
func TestArchivedThread(t *testing.T) {
	s := newStore(t)
	for i, id := range []string{"a", "b", "c"} {
		s.session(id, abs("/w"), i)
	}
	s.goesOn("a", "b", 1)
	require.NoError(t, s.SetArchived(true, s.Thread("b")...))
	require.Equal(t, []string{"a"}, s.archived(OnlyArchived, 5))
	s.goesOn("b", "c", 2)
	require.Equal(t, []string{"a"}, s.archived(OnlyArchived, 5))
	require.Empty(t, s.archived("", 5))
	require.NoError(t, s.SetArchived(false, s.Thread("c")...))
	require.Equal(t, []string{"a"}, s.archived("", 5))
}

// A file that cannot be read is an error that names it, is left as it is, and hides no session as if none were archived.
func TestDamagedArchive(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "cut": `{"archived":{"a":"2026-`, "other JSON": `["a"]`} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			s.session("a", abs("/w"), 1)
			require.NoError(t, os.WriteFile(s.archivePath(), []byte(content), 0o600))
			_, err := s.List(t.Context(), Query{})
			require.ErrorContains(t, err, s.archivePath())
			require.ErrorContains(t, err, "repair it, or remove it")
			require.ErrorContains(t, s.SetArchived(true, "a"), s.archivePath())
			require.ErrorContains(t, s.SetArchived(false, "a"), s.archivePath())
			require.NoError(t, s.Delete("a"), "a deletion does not depend on it")
			left, err := os.ReadFile(s.archivePath())
			require.NoError(t, err)
			require.Equal(t, content, string(left))
		})
	}
}

// What another process archives or restores is seen at once, and stays when this one changes the list.
func TestArchiveOfAnotherProcess(t *testing.T) {
	s := newStore(t)
	for i, id := range []string{"a", "b"} {
		s.session(id, abs("/w"), i)
	}
	other := New(s.root, nil)
	require.NoError(t, s.SetArchived(true, "a"))
	require.NoError(t, other.SetArchived(true, "b"))
	require.Empty(t, s.archived("", 5))
	require.NoError(t, other.SetArchived(false, "a"))
	require.Equal(t, []string{"a"}, s.archived("", 5))
	require.NoError(t, s.SetArchived(true, "a"))
	require.ElementsMatch(t, []string{"a", "b"}, s.archived(OnlyArchived, 5))
}

// Of the changes of several processes none is lost, and each reader finds a complete file.
func TestArchiveAtOnce(t *testing.T) {
	s := newStore(t)
	const each = 20
	var all sync.WaitGroup
	for i := range 4 {
		other := New(s.root, nil) // as another process
		all.Go(func() {
			for n := range each {
				for other.SetArchived(true, uuidLike(i*each+n)) != nil { // another one has the lock
					time.Sleep(time.Millisecond)
				}
				_, err := other.readArchive()
				require.NoError(t, err)
			}
		})
	}
	all.Wait()
	found, err := s.readArchive()
	require.NoError(t, err)
	require.Len(t, found.Archived, 4*each)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(s.root), "*"))
	require.NoError(t, err)
	require.True(t, slices.Equal(left, []string{s.archivePath(), s.root}), left)
}

// A lock that another process keeps is an error after a bound; where files cannot be locked, the file is written without.
func TestArchiveLock(t *testing.T) {
	s := newStore(t)
	held, err := s.locks.Take(s.archivePath() + ".lock")
	require.NoError(t, err)
	require.ErrorContains(t, s.SetArchived(true, "a"), "another droid-acp has kept it locked for 2s")
	files.Unlock(held, s.archivePath()+".lock")
	s.locks.Fault = func() error { return os.ErrInvalid }
	require.NoError(t, s.SetArchived(true, "a"))
	require.NoFileExists(t, s.archivePath()+".lock")
	require.ErrorIs(t, Unknown(os.ErrInvalid).SetArchived(true, "a"), os.ErrInvalid)
	require.NoError(t, s.SetArchived(true, "../a"), "which is the name of no file")
	found, err := s.readArchive()
	require.NoError(t, err)
	require.Len(t, found.Archived, 1)
}
