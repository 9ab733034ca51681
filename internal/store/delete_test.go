package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// files are the files below dir, by path relative to it.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		list = append(list, filepath.ToSlash(rel))
		return err
	})
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return list
}

func (s testStore) bin() string { return filepath.Join(filepath.Dir(s.root), trashName) }

// bins are the deletions in the trash.
func (s testStore) bins() []string {
	s.t.Helper()
	entries, err := os.ReadDir(s.bin())
	if !os.IsNotExist(err) {
		require.NoError(s.t, err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, filepath.Join(s.bin(), e.Name()))
	}
	return list
}

func TestDeleteAndGetBack(t *testing.T) {
	s := newStore(t)
	path := s.session("gone", abs("/w"), 1)
	dir := filepath.Base(filepath.Dir(path))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	s.write(dir, "gone.settings.json", `{"model":"m"}`, sometime)
	s.write(dir, "gone.settings.json.bak", "{}", sometime)
	s.write("gone/attachments", "f.txt", "attached", sometime)
	s.session("gone.2", abs("/w"), 2) // begins alike
	s.write(dir, "gone.2.settings.json", "{}", sometime)
	before := files(t, s.root)
	listed := s.list("", 0)

	require.NoError(t, s.Delete("gone"))
	require.Equal(t, []string{dir + "/gone.2.jsonl", dir + "/gone.2.settings.json"}, files(t, s.root))
	require.Equal(t, []string{"gone.2"}, ids(s.list("", 0)))
	_, err = s.Find("gone")
	require.Error(t, err)
	require.Len(t, s.bins(), 1)
	require.Equal(t, []string{dir + "/gone.jsonl", dir + "/gone.settings.json", dir + "/gone.settings.json.bak", "gone/attachments/f.txt"},
		files(t, s.bins()[0]))
	require.Contains(t, filepath.Base(s.bins()[0]), "Z-gone-")

	require.NoError(t, s.Delete("gone"), "again")
	require.NoError(t, s.Delete("never"))
	require.Len(t, s.bins(), 1)

	// As the documentation says: what lies there goes back to where it was.
	for _, name := range files(t, s.bins()[0]) {
		to := filepath.Join(s.root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
		require.NoError(t, os.Rename(filepath.Join(s.bins()[0], name), to))
	}
	require.Equal(t, before, files(t, s.root))
	require.Equal(t, listed, s.list("", 0), "with the same time")
	back, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, back)

	require.NoError(t, s.Delete("gone"), "deleted a second time")
	require.Len(t, s.bins(), 2)
}

func TestDeleteEveryCopy(t *testing.T) {
	s := newStore(t)
	s.session("twice", abs("/w"), 1)
	s.write("-copy", "twice"+transcript, turn225("headless"), sometime)
	s.write("", "twice"+transcript, start225("twice", abs("/w"), "a", nil)+turn225("a"), sometime)
	require.NoError(t, os.Symlink(filepath.Join(s.root, "-copy"), filepath.Join(s.root, "-link")))
	require.NoError(t, s.Delete("twice"))
	require.Empty(t, files(t, filepath.Join(s.root, "-copy")))
	require.Empty(t, s.list("", 0))
	require.Len(t, s.bins(), 1)
	require.Len(t, files(t, s.bins()[0]), 3)
	require.Contains(t, files(t, s.bins()[0]), "twice.jsonl")
}

func TestDeleteWhatIsDamaged(t *testing.T) {
	s := newStore(t)
	s.write("-w", "bad"+transcript, "\x00", sometime)
	require.NoError(t, os.MkdirAll(filepath.Join(s.root, "-w", "dir"+transcript), 0o700))
	require.NoError(t, s.Delete("bad"))
	require.NoError(t, s.Delete("dir"))
	require.DirExists(t, filepath.Join(s.root, "-w", "dir"+transcript))
	require.Len(t, s.bins(), 1)
}

func TestDeleteWithoutPlaceForIt(t *testing.T) {
	s := newStore(t)
	path := s.session("kept", abs("/w"), 1)
	require.NoError(t, os.WriteFile(s.bin(), nil, 0o600))
	require.ErrorContains(t, s.Delete("kept"), "deleting session kept")
	require.FileExists(t, path)
	require.Equal(t, []string{"kept"}, ids(s.list("", 0)))
}

// Two stores on the same files stand for two processes: neither keeps memory.
func TestDeleteAtOnce(t *testing.T) {
	s := newStore(t)
	other := New(s.root, s.log)
	const sessions = 50
	for i := range sessions {
		path := s.session(uuidLike(i), abs("/w"), i)
		s.write(filepath.Base(filepath.Dir(path)), uuidLike(i)+".settings.json", "{}", sometime)
	}
	var both sync.WaitGroup
	for _, store := range []*Store{s.Store, other, s.Store, other} {
		both.Go(func() {
			for i := range sessions {
				if err := store.Delete(uuidLike(i)); err != nil {
					t.Errorf("deleting: %v", err)
				}
				if _, err := store.List(t.Context(), Query{}); err != nil {
					t.Errorf("listing: %v", err)
				}
			}
		})
	}
	both.Wait()
	require.Empty(t, files(t, s.root))
	require.Len(t, s.bins(), sessions, "one for each session")
	for _, bin := range s.bins() {
		require.Len(t, files(t, bin), 2, "conversation and settings lie together")
	}
	require.Len(t, slices.Compact(s.bins()), sessions)
	require.Empty(t, s.logs.All())
}

// The example in the documentation of Delete.
func TestTrashName(t *testing.T) {
	s := newStore(t)
	s.session("a", abs("/w"), 1)
	require.NoError(t, s.Delete("a"))
	stamp, _, found := strings.Cut(filepath.Base(s.bins()[0]), "-a-")
	require.True(t, found)
	at, err := time.Parse("20060102T150405Z", stamp)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), at, time.Minute)
}
