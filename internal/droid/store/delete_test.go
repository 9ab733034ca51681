package store

import (
	"errors"
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

// filesIn are the files below dir, by path relative to it.
func filesIn(t testing.TB, dir string) []string {
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

// getBack follows the documentation: it moves the files in the trash back to their place.
func getBack(t *testing.T, s testStore, bin string) {
	t.Helper()
	for _, name := range filesIn(t, bin) {
		to := filepath.Join(s.root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
		require.NoError(t, os.Rename(filepath.Join(bin, name), to))
	}
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
	before := filesIn(t, s.root)
	listed := s.list("", 0)

	require.NoError(t, s.Delete("gone"))
	require.Equal(t, []string{dir + "/gone.2.jsonl", dir + "/gone.2.settings.json"}, filesIn(t, s.root))
	require.Equal(t, []string{"gone.2"}, ids(s.list("", 0)))
	_, err = s.Find("gone")
	require.Error(t, err)
	require.Len(t, s.bins(), 1)
	require.Equal(t, []string{dir + "/gone.jsonl", dir + "/gone.settings.json", dir + "/gone.settings.json.bak", "gone/attachments/f.txt"},
		filesIn(t, s.bins()[0]))
	stamp, _, found := strings.Cut(filepath.Base(s.bins()[0]), "-gone-")
	require.True(t, found)
	at, err := time.Parse("20060102T150405Z", stamp)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), at, time.Minute)

	require.NoError(t, s.Delete("gone"), "again")
	require.NoError(t, s.Delete("never"))
	require.Len(t, s.bins(), 1)

	getBack(t, s, s.bins()[0])
	require.Equal(t, before, filesIn(t, s.root))
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
	require.Empty(t, filesIn(t, filepath.Join(s.root, "-copy")))
	require.Empty(t, s.list("", 0))
	require.Len(t, s.bins(), 1)
	require.Len(t, filesIn(t, s.bins()[0]), 3)
	require.Contains(t, filesIn(t, s.bins()[0]), "twice.jsonl")
}

func TestDeleteDamagedSession(t *testing.T) {
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

// CheckDelete finds out whether the files of a session can be moved, and leaves no trace. It does not check who has it open.
func TestCheckDelete(t *testing.T) {
	s := newStore(t)
	all := s.full("mine")
	release, err := s.MarkOpen("mine")
	require.NoError(t, err)
	defer release()
	require.NoError(t, s.CheckDelete("mine", "never"))
	errMove := errors.New("invalid cross-device link")
	for _, dir := range []string{filepath.Join(s.root, "-w"), s.root} { // where the conversation and the attachments lie
		s.rename = func(from, to string) error {
			if filepath.Dir(from) == dir {
				return errMove
			}
			return os.Rename(from, to)
		}
		require.ErrorIs(t, s.CheckDelete("mine"), errMove)
	}
	s.rename = os.Rename
	require.Equal(t, all, filesIn(t, s.root))
	require.Empty(t, s.bins())
	require.NoError(t, os.Remove(s.bin()))
	require.NoError(t, os.WriteFile(s.bin(), nil, 0o600))
	require.ErrorContains(t, s.CheckDelete("mine"), s.bin())
	require.NoError(t, s.CheckDelete("never"))
	require.Equal(t, all, filesIn(t, s.root))
}

// Two stores on the same files stand for two processes: neither keeps memory.
func TestDeleteAtOnce(t *testing.T) {
	s := newStore(t)
	other := New(s.root, s.log)
	const sessions = 20
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
	require.Empty(t, filesIn(t, s.root))
	require.Len(t, s.bins(), sessions, "one for each session")
	for _, bin := range s.bins() {
		require.Len(t, filesIn(t, bin), 2, "conversation and settings lie together")
	}
	require.Len(t, slices.Compact(s.bins()), sessions)
	require.Empty(t, s.logs.All())
}

// The store is a symbolic link: the trash is in the parent of its target.
func TestDeleteBehindALink(t *testing.T) {
	s := newStore(t)
	other := filepath.Join(t.TempDir(), "sessions")
	require.NoError(t, os.Mkdir(other, 0o700))
	require.NoError(t, os.Remove(s.root))
	require.NoError(t, os.Symlink(other, s.root))
	s.full("gone")
	all := filesIn(t, other)
	require.NoError(t, s.Delete("gone"))
	require.Empty(t, filesIn(t, other))
	require.Empty(t, s.bins())
	bins, err := filepath.Glob(filepath.Join(filepath.Dir(other), trashName, "*"))
	require.NoError(t, err)
	require.Len(t, bins, 1)
	require.Equal(t, all, filesIn(t, bins[0]))
}

// A project directory that is a symbolic link out of the store: what lies there is
// not droid-acp's to move.
func TestDeleteMovesNothingOutsideTheStore(t *testing.T) {
	s := newStore(t)
	outside := t.TempDir()
	mine := filepath.Join(outside, "kept"+transcript)
	require.NoError(t, os.WriteFile(mine, []byte("mine"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "kept.settings.json"), []byte("mine"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(s.root, "-w")))
	s.session("kept", abs("/v"), 1) // a copy that lies in the store
	before := filesIn(t, s.root)

	err := s.Delete("kept")
	require.ErrorContains(t, err, outside)
	require.ErrorContains(t, err, "symbolic link")
	require.FileExists(t, mine)
	require.FileExists(t, filepath.Join(outside, "kept.settings.json"))
	require.Equal(t, before, filesIn(t, s.root), "all or nothing")
	require.Empty(t, s.bins())
}

// If the files of a session are links, the links are deleted, not their targets.
func TestDeleteTakesTheLinkNotItsTarget(t *testing.T) {
	s := newStore(t)
	outside := filepath.Join(t.TempDir(), "mine")
	require.NoError(t, os.MkdirAll(outside, 0o700))
	target := filepath.Join(outside, "x")
	require.NoError(t, os.WriteFile(target, []byte("mine"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(s.root, "-w"), 0o700))
	require.NoError(t, os.Symlink(target, filepath.Join(s.root, "-w", "a"+transcript)))
	require.NoError(t, os.Symlink(outside, filepath.Join(s.root, "a")))
	require.NoError(t, s.Delete("a"))
	require.FileExists(t, target)
	require.Empty(t, filesIn(t, s.root))
	require.Len(t, s.bins(), 1)
}

// full writes a session with all that droid keeps of one, in two places, and
// returns the files.
func (s testStore) full(id string) []string {
	s.t.Helper()
	dir := filepath.Base(filepath.Dir(s.session(id, abs("/w"), 1)))
	s.write(dir, id+".settings.json", "{}", sometime)
	s.write(dir, id+".settings.json.bak", "{}", sometime)
	s.write("", id+transcript, start225(id, abs("/w"), "a", nil)+turn225("a"), sometime)
	s.write(id+"/attachments", "f.txt", "attached", sometime)
	return filesIn(s.t, s.root)
}

// The n-th step of a deletion is the last one that happens, or fails: either way each session is
// in the store with all its files or in the trash, and moving back what lies there makes it whole.
func TestDeleteIsAllOrNothing(t *testing.T) {
	type killed struct{}
	errStep := errors.New("invalid cross-device link")
	for name, stop := range map[string]func() error{ // in place of the step
		"killed":  func() error { panic(killed{}) },
		"failing": func() error { return errStep },
	} {
		t.Run(name, func(t *testing.T) {
			for step := 0; ; step++ {
				s := newStore(t)
				s.full("first")
				all := s.full("second")
				left := step
				s.rename = func(from, to string) error {
					if left--; left == -1 {
						return stop()
					}
					return os.Rename(from, to)
				}
				err := func() error {
					defer func() {
						if p := recover(); p != nil && p != any(killed{}) {
							panic(p)
						}
					}()
					return s.Delete("first", "second")
				}()
				if left >= 0 {
					require.NoError(t, err)
					require.GreaterOrEqual(t, step, len(all), "all steps were stopped at")
					return
				}
				if err != nil {
					require.Equal(t, all, filesIn(t, s.root), "what failed left everything where it was")
					require.Empty(t, s.bins())
				}
				requireThereOrMoved(t, s, "first", all)
				requireThereOrMoved(t, s, "second", all)
				s.rename = os.Rename
				require.NoError(t, s.Delete("first", "second"), "the next attempt gets to the end")
				require.Empty(t, s.list("", 0))
				for _, bin := range s.bins() {
					getBack(t, s, bin)
				}
				require.Equal(t, all, filesIn(t, s.root))
			}
		})
	}
}

// requireThereOrMoved: a conversation in the store has all that belongs to it, and one that is
// not there is in the trash.
func requireThereOrMoved(t *testing.T, s testStore, id string, all []string) {
	t.Helper()
	var moved []string
	for _, bin := range s.bins() {
		moved = append(moved, filesIn(t, bin)...)
	}
	for _, name := range all {
		if !strings.HasSuffix(name, id+transcript) {
			continue
		}
		if slices.Contains(moved, name) {
			require.NoFileExists(t, filepath.Join(s.root, name))
			continue
		}
		for _, other := range all {
			if strings.HasPrefix(other, strings.TrimSuffix(name, transcript)+".") || strings.HasPrefix(other, id+"/") {
				require.FileExists(t, filepath.Join(s.root, other))
			}
		}
	}
}

// A file that a droid writes while its session is moved is not replaced when the rest cannot be moved, and the error says where it is.
func TestDeleteGoesBackOverNothing(t *testing.T) {
	s := newStore(t)
	path := s.session("busy", abs("/w"), 1)
	dir := filepath.Base(filepath.Dir(path))
	s.write(dir, "busy.settings.json", "{}", sometime)
	s.rename = func(from, to string) error {
		if strings.HasSuffix(from, ".settings.json") {
			s.write(dir, "busy"+transcript, "new", sometime)
			return errors.New("no")
		}
		return os.Rename(from, to)
	}
	err := s.Delete("busy")
	require.ErrorIs(t, err, fs.ErrExist)
	require.ErrorContains(t, err, "its files are in "+s.bins()[0])
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(content))
	require.FileExists(t, filepath.Join(s.bins()[0], dir, "busy"+transcript))
}

func TestDeleteOfAnOpenSession(t *testing.T) {
	s := newStore(t)
	path := s.session("mine", abs("/w"), 1)
	other := New(s.root, s.log)
	release, err := s.MarkOpen("mine")
	require.NoError(t, err)
	again, err := other.MarkOpen("mine")
	require.NoError(t, err, "several may hold it")

	require.ErrorContains(t, s.Delete("mine"), "close it there first")
	release()
	require.ErrorContains(t, s.Delete("mine"), "close it there first")
	require.FileExists(t, path)
	require.NoError(t, s.Delete("mine.2"), "not that one")
	again()
	require.NoError(t, s.Delete("mine"))
	require.NoFileExists(t, path)
	require.Empty(t, filesIn(t, filepath.Join(filepath.Dir(s.root), openName)))

	_, err = s.MarkOpen("../mine")
	require.Error(t, err)
	path = s.session("died", abs("/w"), 1) // its holder left the file behind
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(s.root), openName, "died"), nil, 0o600))
	require.NoError(t, s.Delete("died"))
	require.NoFileExists(t, path)
	require.Empty(t, filesIn(t, filepath.Join(filepath.Dir(s.root), openName)))
}

// A session that a droid is about to load is not deleted either. Whoever has it open is not affected.
func TestDeleteDuringLoad(t *testing.T) {
	s := newStore(t)
	path := s.session("mine", abs("/w"), 1)
	other := New(s.root, s.log)
	open, err := s.MarkOpen("mine")
	require.NoError(t, err)
	at := s.Marked("mine")
	loading, err := other.MarkLoading("mine")
	require.NoError(t, err)
	require.Equal(t, at, s.Marked("mine"))
	open()
	require.False(t, isOpen(t, other, "mine"), "its own note is not in its way")
	require.ErrorIs(t, s.Free("mine"), ErrOpenElsewhere)
	require.ErrorIs(t, s.Delete("mine"), ErrOpenElsewhere)
	require.FileExists(t, path)
	loading()
	require.NoError(t, s.Delete("mine"))
	require.NoFileExists(t, path)
	require.Empty(t, filesIn(t, filepath.Join(filepath.Dir(s.root), openName)))
}

// Files of killed processes do not accumulate.
func TestHoldSweepsStaleFiles(t *testing.T) {
	s := newStore(t)
	kept, err := s.MarkOpen("kept")
	require.NoError(t, err)
	dir := filepath.Join(filepath.Dir(s.root), openName)
	for _, id := range []string{"died", "died too"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, id), nil, 0o600))
	}
	release, err := s.MarkOpen("mine")
	require.NoError(t, err)
	require.Len(t, filesIn(t, dir), 2)
	require.True(t, isOpen(t, s.Store, "kept"))
	release()
	kept()
	require.Empty(t, filesIn(t, dir))
}

// A process that arrives while the last holder releases holds a file that the next one sees.
func TestHoldAtOnce(t *testing.T) {
	s := newStore(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				release, err := s.MarkOpen("mine")
				if err != nil {
					t.Errorf("holding: %v", err)
					return
				}
				if held, err := s.IsOpen("mine"); err != nil || !held {
					t.Error("it is held and nobody sees it", err)
				}
				release()
			}
		})
	}
	all.Wait()
	require.False(t, isOpen(t, s.Store, "mine"))
}
