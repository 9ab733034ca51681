//go:build unix

package editorfs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"
)

// obstacle keeps an entry's file from being replayed until it is lifted.
type obstacle struct {
	name  string
	isNew bool
	put   func(t *testing.T, path string) (lift func())
	fault func(op string) error
	says  string // the reason in the message to the user
	gives string // what the file has when it was lifted; "" is the new text
}

func moved(t *testing.T, path string) func() {
	require.NoError(t, os.Rename(path, path+".away"))
	return func() { require.NoError(t, os.Rename(path+".away", path)) }
}

func fails(op string, err error) func(string) error {
	return func(at string) error {
		if at == op {
			return err
		}
		return nil
	}
}

func obstacles() []obstacle {
	none := func(*testing.T, string) func() { return func() {} }
	return []obstacle{
		{name: "reading fails", put: none, fault: fails("peek", syscall.EIO), says: "input/output error"},
		{name: "not to be read", put: none, fault: fails("peek", syscall.EACCES), says: "permission denied"},
		{name: "not to be written", put: none, fault: fails("rename", syscall.EROFS), says: "read-only file system"},
		{name: "no room", put: none, fault: fails("put", syscall.ENOSPC), says: "no space left"},
		{name: "new, reading fails", isNew: true, put: none, fault: fails("peek", syscall.ESTALE), says: "stale"},
		{name: "deleted", put: moved, says: "not there any more"},
		{name: "directory gone", put: func(t *testing.T, path string) func() { return moved(t, filepath.Dir(path)) }, says: "no such file"},
		{name: "new, directory gone", isNew: true, put: func(t *testing.T, path string) func() { return moved(t, filepath.Dir(path)) }, says: "no such file"},
		{name: "new, not mounted", isNew: true, says: "is its disk mounted", put: func(t *testing.T, path string) func() {
			dir := filepath.Dir(path)
			back := moved(t, dir)
			require.NoError(t, os.Mkdir(dir, 0o755))
			return func() {
				require.NoError(t, os.Remove(dir), "nothing was written below the place of the disk")
				back()
			}
		}},
		{name: "a directory", says: "no regular file", put: func(t *testing.T, path string) func() {
			back := moved(t, path)
			require.NoError(t, os.Mkdir(path, 0o755))
			return func() {
				require.NoError(t, os.Remove(path))
				back()
			}
		}},
		{name: "a file above", says: "not a directory", put: func(t *testing.T, path string) func() {
			dir := filepath.Dir(path)
			back := moved(t, dir)
			require.NoError(t, os.WriteFile(dir, nil, 0o644))
			return func() {
				require.NoError(t, os.Remove(dir))
				back()
			}
		}},
		{name: "another text afterwards", says: "not there any more", gives: "user\n", put: func(t *testing.T, path string) func() {
			require.NoError(t, os.Remove(path))
			return func() { require.NoError(t, os.WriteFile(path, []byte("user\n"), 0o644)) }
		}},
	}
}

// TestKept checks that an edit which cannot be read or written now is replayed once it can be, that nothing is assumed about it until then,
// and that the user is notified once.
func TestKept(t *testing.T) {
	t.Parallel()
	for _, o := range obstacles() {
		for _, again := range []string{"the next start", "a read", "an edit", "the end"} {
			t.Run(o.name+"/"+again, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { keeps(t, o, again) }) })
		}
	}
}

func keeps(t *testing.T, o obstacle, again string) {
	const text = "new\ntext\n"
	fault := o.fault
	path := filepath.Join(t.TempDir(), "project", "a.txt")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o755))
	if !o.isNew {
		require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o644))
	}
	journal, _ := left(t, path, text, o.isNew)
	lift := o.put(t, path)
	start := func() *Files {
		f := newFiles(Options{Journal: journal})
		f.quiet, f.fault = 0, fault
		require.NoError(t, f.begin())
		return f
	}
	f := start()
	told := f.ReplayWarnings()
	require.Len(t, told, 1)
	for _, part := range []string{path, o.says, journal, "second line"} {
		require.Contains(t, told[0], part)
	}
	require.Empty(t, f.ReplayWarnings(), "once")
	f.Close()
	entries, err := filepath.Glob(filepath.Join(journal, "*"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Contains(t, told[0], entries[0])
	data, err := os.ReadFile(entries[0])
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(data), "\n")
	require.Equal(t, text, after)

	f = start()
	require.Empty(t, f.ReplayWarnings(), "the next start does not tell it again")
	if again == "the next start" {
		f.Close()
	}
	lift()
	fault, f.fault = nil, nil
	d := f.Overlay(async{instant{}}, OverlayOptions{})
	switch again {
	case "a read":
		_, err := d.Read(t.Context(), "r", path)
		require.NoError(t, err)
	case "an edit":
		d.BeginEdit(t.Context(), "1", []string{path})
	case "the next start":
		f = start()
	}
	d.Close()
	if again != "the end" {
		now, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotEqual(t, "old\n", string(now))
	}
	f.Close()
	want := o.gives
	if want == "" {
		want = text
	}
	data, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(data))
	require.NoDirExists(t, journal)
}

// TestOtherNames: a second name of the file, as a backup makes it, keeps the old text, and the file gets
// the new one.
func TestOtherNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o644))
	journal, _ := left(t, path, "new\n", false)
	require.NoError(t, os.Link(path, path+".backup"))
	mend(t, journal)
	for name, want := range map[string]string{path: "new\n", path + ".backup": "old\n"} {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
	}
	require.NoDirExists(t, journal)
}

// TestAttributesStay: a file that has got attributes since is written in place.
func TestAttributesStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o644))
	journal, _ := left(t, path, "new\n", false)
	if err := unix.Setxattr(path, "user.droid-acp-test", []byte("x"), 0); err != nil {
		t.Skip(err)
	}
	mend(t, journal)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new\n", string(data))
	value := make([]byte, 8)
	n, err := unix.Getxattr(path, "user.droid-acp-test", value)
	require.NoError(t, err)
	require.Equal(t, "x", string(value[:n]))
	require.NoDirExists(t, journal)
}

// TestOtherOwner checks that a file of another owner or group is not replaced by a new file.
func TestOtherOwner(t *testing.T) {
	for _, owner := range [][2]int{{1, -1}, {-1, 1}} {
		path := filepath.Join(t.TempDir(), "a.txt")
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		if err := os.Chown(path, owner[0], owner[1]); err != nil {
			t.Skip(err) // not root
		}
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.ErrorIs(t, unfitReason(path, info), errOwner)
	}
}

// TestReadOnlySince: a file that its user has protected since gets the text and stays protected.
func TestReadOnlySince(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o644))
	journal, _ := left(t, path, "new\n", false)
	require.NoError(t, os.Chmod(path, 0o444))
	f := newFiles(Options{Journal: journal})
	f.quiet, f.fault = 0, fails("overwrite", syscall.EACCES) // as for a user who is not root
	require.NoError(t, f.begin())
	f.Close()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new\n", string(data))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o444), info.Mode())
	require.NoDirExists(t, journal)
}

// TestRestoreFails checks that an edit that can be neither made nor undone is kept, reported, and made when its file is checked again.
func TestRestoreFails(t *testing.T) {
	bubble(t, nil, func(r *room) {
		core, log := observer.New(zap.ErrorLevel)
		r.files.log = zap.New(core)
		path := r.has("a.txt", three)
		r.opened(path)
		ctx := context.Background()
		r.overlay.BeginEdit(ctx, "1", []string{path})
		r.droidWrites(path, four)
		broken := false
		r.files.step = func(s stepName) {
			if s == stepRead {
				r.editor.Close()
				broken = true
			}
		}
		r.files.fault = func(op string) error {
			if broken && op != "journal" && op != "lock" {
				return syscall.EIO
			}
			return nil
		}
		require.Contains(t, r.overlay.EndEdit(ctx, "1"), "could not be written")
		require.Equal(t, three, r.disk(path))
		require.Len(t, r.files.ReplayWarnings(), 1)
		require.Equal(t, 1, log.FilterMessageSnippet("cannot be completed").Len())
		_, err := r.overlay.Read(ctx, "r", path)
		require.NoError(t, err)
		require.Equal(t, three, r.disk(path), "it still cannot be read")
		require.Equal(t, 1, log.FilterMessageSnippet("cannot be completed").Len(), "the reason is the same")
		require.Empty(t, r.files.ReplayWarnings())
		broken = false
		r.files.step = func(stepName) {}
		_, err = r.overlay.Read(ctx, "r", path)
		require.NoError(t, err)
		require.Equal(t, four, r.disk(path))
	})
}

// TestFileSystemThatHangs checks that a start waits for it only briefly, and that all other entries are replayed.
func TestFileSystemThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		good, bad := filepath.Join(dir, "good.txt"), filepath.Join(dir, "bad.txt")
		journal := ""
		for _, path := range []string{bad, good} {
			require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o644))
			one, entry := left(t, path, "new\n", false)
			if journal == "" {
				journal = one
			} else {
				require.NoError(t, os.Rename(entry, filepath.Join(journal, filepath.Base(entry))))
			}
		}
		answers := make(chan struct{})
		f := newFiles(Options{Journal: journal})
		f.quiet = 0
		var hung atomic.Int32
		first := make(chan bool, 1)
		first <- true
		f.fault = func(op string) error {
			if op != "peek" {
				return nil
			}
			select {
			case <-first:
				hung.Add(1)
				<-answers
			default:
			}
			return nil
		}
		began := time.Now()
		require.NoError(t, f.begin())
		require.Equal(t, replayTime, time.Since(began))
		require.EqualValues(t, 1, hung.Load())
		texts := map[string]int{}
		for _, path := range []string{bad, good} {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			texts[string(data)]++
		}
		require.Equal(t, map[string]int{"old\n": 1, "new\n": 1}, texts)
		close(answers)
		f.Close()
		for _, path := range []string{bad, good} {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, "new\n", string(data))
		}
		require.NoDirExists(t, journal)
	})
}

// TestJournalIsBounded: of entries that are never replayed the oldest go.
func TestJournalIsBounded(t *testing.T) { synctest.Test(t, bounds) }

func bounds(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	f := newFiles(Options{Journal: journal})
	for i := range maxKept + 20 {
		path := fmt.Sprintf("/nowhere/%03d.txt", i)
		id := newID()
		text := fmt.Sprintln(i)
		r, err := f.record(id, entry{Path: path, Resolved: path, Temp: tempName(id), Old: sum("old"), Sum: sum(text)}, text)
		require.NoError(t, err)
		r.leave()
		at := time.Now().Add(time.Duration(i-1000) * time.Minute)
		require.NoError(t, os.Chtimes(r.path, at, at))
	}
	f.Close()
	other := filepath.Join(journal, newID()+editEnd)
	require.NoError(t, os.Mkdir(other, 0o700)) // counts for nothing
	next := newFiles(Options{Journal: journal})
	require.NoError(t, next.begin())
	require.Len(t, next.unreplayed, maxKept)
	require.Len(t, next.ReplayWarnings(), maxKept)
	for _, k := range next.unreplayed {
		require.GreaterOrEqual(t, k.file, "/nowhere/020.txt", "the oldest are gone")
	}
	next.Close()
	require.NoError(t, os.Remove(other))
	entries, err := os.ReadDir(journal)
	require.NoError(t, err)
	require.Len(t, entries, maxKept)
}

// TestForgottenFiles checks that the file that was not used for longest is forgotten if there are too many, but none in use.
func TestForgottenFiles(t *testing.T) {
	f := newFiles(Options{})
	defer f.cancel()
	began := time.Now()
	for i := range maxFileStates {
		f.fileStates[fmt.Sprint(i)] = &fileState{used: began.Add(time.Duration(i))}
	}
	f.fileStates["0"].users, f.fileStates["1"].late, f.fileStates["2"].delivering = 1, &lateWrite{}, make(chan struct{})
	f.fileState("4") // of those that are known none is forgotten
	for _, forgotten := range []string{"3", "5"} {
		require.Contains(t, f.fileStates, forgotten)
		f.fileState("new before " + forgotten)
		require.NotContains(t, f.fileStates, forgotten)
		require.Len(t, f.fileStates, maxFileStates)
	}
}

// TestForgottenTexts checks that of the texts that a file had before the oldest are forgotten.
func TestForgottenTexts(t *testing.T) {
	f := newFiles(Options{})
	defer f.cancel()
	for i := range maxEarlier + 2 {
		f.noteDisk("a.txt", &content{text: fmt.Sprint(i)}, false)
	}
	earlier := f.fileStates["a.txt"].earlier
	require.Len(t, earlier, maxEarlier)
	require.Equal(t, f.hash("1"), earlier[0])
}

// TestReservedSpace checks that a staged text becomes a file in the space that is reserved for it.
func TestReservedSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	s, err := stage(path, "text", 0o600)
	require.NoError(t, err)
	staged := s.draft
	d, err := s.named(path, path+".tmp")
	require.NoError(t, err)
	defer d.Discard()
	if staged != nil { // nil if the file system has no unnamed files
		require.Same(t, staged, d)
	}

	s, err = stage(path, "text", 0o600)
	require.NoError(t, err)
	if staged = s.draft; staged != nil {
		s.close()
		require.ErrorIs(t, staged.File.Close(), os.ErrClosed)
	}
}

// TestNoLocks checks that edits work without locks, and that no entry is replayed that another agent may be working on.
func TestNoLocks(t *testing.T) {
	bubble(t, nil, func(r *room) {
		core, logs := observer.New(zapcore.WarnLevel)
		r.files.log = zap.New(core)
		r.files.fault = fails("lock", syscall.ENOLCK)
		path, ctx := r.has("a.txt", three), context.Background()
		r.opened(path)
		for i := range 3 {
			time.Sleep(3 * time.Millisecond) // no reload of the editor begins at the moment of a write
			r.types(path, "typed\n")
			began := time.Now()
			r.overlay.BeginEdit(ctx, "1", []string{path})
			require.Less(r, time.Since(began), time.Second)
			text := strings.Repeat("typed\n", i+1) + three
			require.Equal(r, text+strings.Repeat("droid\n", i), r.disk(path), "unsaved text is saved first")
			r.droidWrites(path, r.disk(path)+"droid\n")
			require.Empty(r, r.overlay.EndEdit(ctx, "1"))
			_, _, listed := r.editor.Review(path)
			require.True(r, listed)
		}
		require.Len(r, logs.FilterMessageSnippet("locked").All(), 1, "it is said once")
	})
}

// TestUnlockedEntry: an entry without a lock is replayed when no agent can be at work on it.
func TestUnlockedEntry(t *testing.T) {
	for _, locks := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "a.txt")
		require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o644))
		f := newFiles(Options{Journal: filepath.Join(t.TempDir(), "journal")})
		f.fault = fails("lock", syscall.ENOLCK)
		id := newID()
		r, err := f.record(id, entry{Path: path, Resolved: path, Temp: tempName(id), Old: sum("old\n"), Sum: sum("new\n"), Mode: 0o644}, "new\n")
		require.NoError(t, err)
		for _, old := range []bool{false, true} {
			next := newFiles(Options{Journal: f.journal})
			if next.quiet = 0; !locks {
				next.fault = f.fault
			}
			if old {
				at := time.Now().Add(-unlockedAge)
				require.NoError(t, os.Chtimes(r.path, at, at))
			}
			require.NoError(t, next.begin())
			require.Empty(t, next.ReplayWarnings())
			next.Close()
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, map[bool]string{false: "old\n", true: "new\n"}[old], string(data))
		}
		r.leave()
		f.Close()
		require.NoDirExists(t, f.journal)
	}
}
