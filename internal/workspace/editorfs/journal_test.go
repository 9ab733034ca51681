//go:build unix

package editorfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// left is an agent that was killed while the old text was on disk; it returns the entry.
func left(t *testing.T, path, text string, isNew bool) (journal, entryPath string) {
	t.Helper()
	journal = filepath.Join(t.TempDir(), "journal")
	f, err := Open(Options{Journal: journal})
	require.NoError(t, err)
	id := newID()
	e := entry{Path: path, Resolved: path, Temp: tempName(id), New: isNew, Sum: sum(text), Mode: 0o640}
	if !isNew {
		e.Old = sum("old\n")
	}
	above, err := os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	e.Dir = inode(above)
	r, err := f.record(id, e, text)
	require.NoError(t, err)
	f.Close()
	require.FileExists(t, r.path, "as long as its agent lives, nobody mends it")
	r.leave()
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), e.Temp), []byte("half"), 0o600))
	return journal, r.path
}

func mend(t *testing.T, journal string) {
	t.Helper()
	f := newFiles(Options{Journal: journal})
	f.quiet = 0
	require.NoError(t, f.begin())
	f.Close()
}

func onlyMend(t *testing.T, journal string) *Files {
	t.Helper()
	f, err := Replay(Options{Journal: journal})
	require.NoError(t, err)
	return f
}

func TestReplay(t *testing.T) {
	const text = "new\ntext\r\n\xff is never written by us, but may be\n"
	for name, tc := range map[string]struct {
		isNew bool
		disk  string // "-" is no file
		want  string
	}{
		"the old text":          {false, "old\n", text},
		"the new text":          {false, text, text},
		"a part of it":          {false, text[:5], text},
		"emptied":               {false, "", text},
		"another text":          {false, "user\n", "user\n"},
		"new, missing":          {true, "-", text},
		"new, there":            {true, text, text},
		"new, another text":     {true, "user\n", "user\n"},
		"new, a part":           {true, "new", text},
		"new, its old is empty": {true, "", text},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.txt")
			journal, _ := left(t, path, text, tc.isNew)
			if tc.disk != "-" {
				require.NoError(t, os.WriteFile(path, []byte(tc.disk), 0o644))
			}
			mend(t, journal)
			data, err := os.ReadFile(path)
			if tc.want == "-" {
				require.ErrorIs(t, err, os.ErrNotExist)
			} else {
				require.Equal(t, tc.want, string(data))
			}
			if tc.want != tc.disk && tc.want == text {
				info, err := os.Stat(path)
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o640), info.Mode())
			}
			require.NoDirExists(t, journal)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			for _, e := range entries {
				require.Equal(t, "a.txt", e.Name())
			}
		})
	}
}

// TestReplayLeavesOtherFilesAlone checks that the file that a damaged or forged entry names is not touched.
func TestReplayLeavesOtherFilesAlone(t *testing.T) {
	for name, spoil := range map[string]func(string) string{
		"cut":                 func(s string) string { return s[:len(s)-1] },
		"empty":               func(string) string { return "" },
		"no text":             func(s string) string { head, _, _ := strings.Cut(s, "\n"); return head },
		"no JSON":             func(s string) string { return "x" + s },
		"another temporary":   func(s string) string { return strings.Replace(s, `"temp":".droid-acp-`, `"temp":"../x-`, 1) },
		"temporary elsewhere": func(s string) string { return strings.Replace(s, `"temp":".droid-acp-`, `"temp":".droid-acp-/../`, 1) },
		"not absolute":        func(s string) string { return strings.Replace(s, `"resolved":"/`, `"resolved":"`, 1) },
		"not clean":           func(s string) string { return strings.Replace(s, `"resolved":"/`, `"resolved":"/../`, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.txt")
			journal, at := left(t, path, "new\n", false)
			require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o644))
			data, err := os.ReadFile(at)
			require.NoError(t, err)
			spoiled := spoil(string(data))
			require.NotEqual(t, string(data), spoiled)
			require.NoError(t, os.WriteFile(at, []byte(spoiled), 0o600))
			mend(t, journal)
			mend(t, journal)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, "old\n", string(text))
			require.NoFileExists(t, at)
			kept, err := os.ReadFile(at + damagedEnd)
			require.NoError(t, err)
			require.Equal(t, spoiled, string(kept), "it is moved aside")
		})
	}
}

// TestEntryInUse: the entry of an agent that lives is left alone, however old it is.
func TestEntryInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o644))
	f := newFiles(Options{Journal: filepath.Join(t.TempDir(), "journal")})
	id := newID()
	r, err := f.record(id, entry{Path: path, Resolved: path, Temp: tempName(id), Old: sum("old\n"), Sum: sum("new\n"), Mode: 0o644}, "new\n")
	require.NoError(t, err)
	at := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(r.path, at, at))
	mend(t, f.journal)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old\n", string(data))
	r.forget()
	f.Close()
	require.NoDirExists(t, f.journal)
}

// TestMendedOnce: agents that start at the same time do not get in each other's way.
func TestMendedOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		path := filepath.Join(t.TempDir(), "a.txt")
		journal, _ := left(t, path, "new\n", false)
		require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o644))
		done := make(chan error)
		for range 8 {
			go func() {
				f := newFiles(Options{Journal: journal})
				f.quiet = 0
				err := f.begin()
				if err == nil {
					f.Close()
				}
				done <- err
			}()
		}
		for range 8 {
			require.NoError(t, <-done)
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "new\n", string(data))
		require.NoDirExists(t, journal)
	}
}

func TestJournalIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "journal")
	f, err := Open(Options{Journal: dir})
	require.NoError(t, err)
	require.NoDirExists(t, dir, "nothing needs it yet")
	for range 2 {
		release, err := f.lock(t.Context(), "/x")
		require.NoError(t, err)
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
		release()
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	f.Close()
	require.NoDirExists(t, dir)

	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "another's"), nil, 0o600))
	onlyMend(t, dir)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	_, err = Open(Options{Journal: link})
	require.Error(t, err, "a link may lead anywhere")
	f, err = Replay(Options{Journal: link})
	require.Error(t, err)
	require.Empty(t, f.ReplayWarnings())
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Open(Options{Journal: file})
	require.Error(t, err)
	_, err = Replay(Options{Journal: file})
	require.Error(t, err)
	_, err = Open(Options{})
	require.Error(t, err)
	onlyMend(t, "")
	require.FileExists(t, file)
	require.ErrorIs(t, private(filepath.Join(t.TempDir(), "missing")), os.ErrNotExist)
}

// TestNothingIsLeft: the journal's directory goes with the last agent, and this program's above
// it, but no other and none with something in it.
func TestNothingIsLeft(t *testing.T) {
	base := t.TempDir()
	journal := filepath.Join(base, "droid-acp", "edits")
	onlyMend(t, journal)
	require.NoDirExists(t, filepath.Dir(journal), "mending makes nothing")
	use := func(journal string) {
		f, err := Open(Options{Journal: journal})
		require.NoError(t, err)
		release, err := f.lock(t.Context(), "/x")
		require.NoError(t, err)
		require.DirExists(t, journal)
		release()
		f.Close()
		require.NoDirExists(t, journal)
	}
	use(journal)
	require.NoDirExists(t, filepath.Dir(journal))
	require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(journal), "other"), 0o700))
	use(journal)
	require.DirExists(t, filepath.Dir(journal))
	require.NoError(t, os.Mkdir(filepath.Join(base, "state"), 0o700))
	use(filepath.Join(base, "state", "edits"))
	require.DirExists(t, filepath.Join(base, "state"))
	require.NoError(t, os.MkdirAll(journal, 0o700))
	onlyMend(t, journal)
	require.NoDirExists(t, journal)
}

// TestMendWithoutAnEditor checks that a replay without an editor writes an edit of the journal to the disk.
func TestMendWithoutAnEditor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.txt")
	journal, _ := left(t, path, "new\n", false)
	require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o644))
	onlyMend(t, journal)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new\n", string(data))
	require.NoDirExists(t, journal)
	require.Empty(t, onlyMend(t, "").ReplayWarnings(), "there is no journal")
}

// TestMendingWaits: the editor of an agent that was just killed may still do the write.
func TestMendingWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.txt")
	journal, at := left(t, path, "new\n", false)
	require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o644))
	f := newFiles(Options{Journal: journal})
	f.quiet = time.Minute
	done := make(chan error)
	go func() { done <- f.begin() }()
	require.Never(t, func() bool { data, _ := os.ReadFile(path); return string(data) != "old\n" }, 200*time.Millisecond, 10*time.Millisecond)
	require.NoError(t, os.WriteFile(path, []byte("new, formatted\n"), 0o644))
	require.NoError(t, <-done)
	f.Close()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new, formatted\n", string(data), "the editor's write is not done again")
	require.NoFileExists(t, at)
}

// TestJournalThatIsRemoved: agents that end remove the directory while another begins its edit.
func TestJournalThatIsRemoved(t *testing.T) {
	t.Parallel()
	journal := filepath.Join(t.TempDir(), "droid-acp", "edits")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				f := newFiles(Options{Journal: journal})
				f.tidy()
				f.cancel()
			}
		}
	}()
	f, err := Open(Options{Journal: journal})
	require.NoError(t, err)
	for range 200 {
		release, err := f.lock(t.Context(), "/x")
		require.NoError(t, err)
		r, err := f.record(newID(), entry{}, "text")
		require.NoError(t, err)
		require.FileExists(t, r.path)
		r.forget()
		release()
	}
	close(stop)
	<-done
	f.Close()
	require.NoDirExists(t, filepath.Dir(journal))
}
