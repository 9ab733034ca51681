//go:build unix

package editorfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scripted is an editor without buffers that saves something else than it is asked to.
type scripted struct {
	instant
	saves []string // the first, second, ... time; then what it is asked to
	told  []string
}

func (s *scripted) WriteTextFile(ctx context.Context, path, text string) error {
	s.told = append(s.told, text)
	if len(s.saves) >= len(s.told) {
		text = s.saves[len(s.told)-1]
	}
	return s.instant.WriteTextFile(ctx, path, text)
}

// TestWhatTheEditorSaves: a text that could be the edit done twice, or not at all, is not taken
// for a formatted one without a second look.
func TestWhatTheEditorSaves(t *testing.T) {
	t.Parallel()
	const before, written, doubled, formatted = "one\ntwo\n", "one\n2,\n", "one\n2,\n2,\n", "one\n2,,\n"
	for name, tc := range map[string]struct {
		saves  []string
		want   string
		writes int
		note   bool
		age    time.Duration // of the text before
		warns  bool          // that another text was written over
	}{
		"what it is told":                   {nil, written, 1, false, time.Minute, false},
		"the edit twice":                    {[]string{doubled}, written, 2, false, time.Minute, false},
		"formatted, as if it were twice":    {[]string{formatted, formatted}, formatted, 2, true, time.Minute, false},
		"formatted, clearly":                {[]string{"one\n\t2,\n"}, "one\n\t2,\n", 1, true, time.Minute, false},
		"formatted, soon after":             {[]string{"one\n\t2,\n", "one\n\t2,\n"}, "one\n\t2,\n", 2, true, time.Second, false},
		"an older text, soon after":         {[]string{"one\n1\n2,\n"}, written, 2, false, time.Second, true},
		"the old text":                      {[]string{before}, written, 1, false, time.Minute, false},
		"nothing":                           {[]string{""}, written, 1, false, time.Minute, false},
		"other ends of lines":               {[]string{"one\r\n2,\r\n"}, written, 1, false, time.Minute, false},
		"mixed ends of lines":               {[]string{"one\r\n2,\n"}, written, 1, false, time.Minute, false},
		"no text":                           {[]string{"one\xff\n"}, written, 1, false, time.Minute, true},
		"twice, and no text the other time": {[]string{doubled, "\xff"}, written, 2, false, time.Minute, true},
		"a user's text, then formatted":     {[]string{"one\nuser\n2,\n", "one\n\t2,\n", "one\n\t2,\n"}, "one\n\t2,\n", 3, true, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.txt")
			require.NoError(t, os.WriteFile(path, []byte(before), 0o640))
			at := time.Now().Add(-tc.age)
			require.NoError(t, os.Chtimes(path, at, at))
			f, err := Open(Options{Journal: filepath.Join(dir, "journal"), Changed: fs.FileInfo.ModTime})
			require.NoError(t, err)
			defer f.Close()
			editor := &scripted{saves: tc.saves}
			d := f.Overlay(async{editor}, OverlayOptions{})
			defer d.Close()
			ctx := context.Background()
			d.BeginEdit(ctx, "1", []string{path})
			require.NoError(t, os.WriteFile(path, []byte(written), 0o640))
			note := d.EndEdit(ctx, "1")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(data))
			require.Len(t, editor.told, tc.writes)
			require.Equal(t, tc.note, note != "")
			require.Equal(t, tc.warns, len(d.PendingWarnings()) > 0)
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o640), info.Mode())
		})
	}
}

// autosaving is an editor that saves its user's text along with each requested write, and has more typed since.
type autosaving struct {
	instant
	typed string
}

func (a autosaving) WriteTextFile(ctx context.Context, path, text string) error {
	return a.instant.WriteTextFile(ctx, path, strings.ReplaceAll(a.typed, "TEXT", text))
}

func (a autosaving) ReadTextFile(ctx context.Context, path string) (string, error) {
	text, err := a.instant.ReadTextFile(ctx, path)
	if strings.Contains(text, "user") && !strings.Contains(text, "\r") {
		text += "more\n"
	}
	return text, err
}

// TestAutosaveIsWrittenOver checks that text which the editor saved with droid's, and which is not the editor's result of droid's text, is
// not overwritten without a message.
func TestAutosaveIsWrittenOver(t *testing.T) {
	for typed, told := range map[string]int{"user\nTEXT": 1, "user\r\nTEXT": 1, "TEXT": 0} {
		bubble(t, nil, func(r *room) {
			r.isLike(autosaving{typed: typed}, OverlayOptions{})
			path := r.has("a.txt", three)
			r.edits("1", path, to(four))
			require.Equal(r, four, r.disk(path))
			require.Len(r, r.overlay.PendingWarnings(), told)
		})
	}
}

// unreadable is an editor that cannot return its text.
type unreadable struct{ instant }

func (unreadable) ReadTextFile(context.Context, string) (string, error) {
	return "", os.ErrPermission
}

// TestReadBackFails checks that an editor which cannot return its text is not taken to have that on disk, even if it had an earlier one.
func TestReadBackFails(t *testing.T) {
	e := &edit{Overlay: newFiles(Options{}).Overlay(async{unreadable{}}, OverlayOptions{}), lockedFile: &lockedFile{}, agreed: true}
	require.Equal(t, findingUnseen, e.readBack(t.Context()))
	require.False(t, e.agreed)

	e.editor, e.n, e.path = async{instant{}}, &content{text: three}, filepath.Join(t.TempDir(), "a.txt")
	require.NoError(t, os.WriteFile(e.path, []byte(three), 0o644))
	require.Equal(t, findingAgreed, e.readBack(t.Context()))
	require.Equal(t, three, e.readText, "a second write has its line endings")
}

// TestLinkToAnotherFile checks that a symbolic link that leads elsewhere since is noticed.
func TestLinkToAnotherFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink("a.txt", path))
	e := &edit{lockedFile: &lockedFile{location: location{path: path, link: "a.txt"}}}
	require.NoError(t, e.linked())
	e.link = "b.txt"
	require.Error(t, e.linked())
}

// TestPathToAnotherFile checks that a path that leads elsewhere since its file was locked does not count as saved.
func TestPathToAnotherFile(t *testing.T) {
	bubble(t, nil, func(r *room) {
		path := r.has("a.txt", three)
		saved, err := r.overlay.prepare(r.Context(), &lockedFile{location: location{path: path, resolved: r.path("b.txt")}})
		require.False(r, saved)
		require.ErrorIs(r, err, errBusy)
	})
}

// TestFileThatWasRemoved checks that a file that was read is not taken for unchanged when it is missing.
func TestFileThatWasRemoved(t *testing.T) {
	e := &edit{Overlay: newFiles(Options{}).Overlay(nil, OverlayOptions{}), lockedFile: &lockedFile{location: location{resolved: filepath.Join(t.TempDir(), "a.txt")}}}
	require.NoError(t, e.unchangedSince(nil))
	require.ErrorIs(t, e.unchangedSince(&content{}), errMoved)
}

// TestFileGetsAnotherName checks that a file that has become unfit for the editor does not count as written by droid if its text is the same.
func TestFileGetsAnotherName(t *testing.T) {
	bubble(t, nil, func(r *room) {
		path := r.has("a.txt", three)
		r.overlay.BeginEdit(r.Context(), "1", []string{path})
		require.NoError(r, os.Link(path, r.path("b.txt")))
		require.Empty(r, r.overlay.EndEdit(r.Context(), "1"))
		require.False(r, r.files.fileState(path).direct)
	})
}

// rewriting is an editor that writes the text that a file has once more before it returns it the first time.
type rewriting struct {
	instant
	reads *int
}

func (e rewriting) ReadTextFile(ctx context.Context, path string) (string, error) {
	text, err := e.instant.ReadTextFile(ctx, path)
	if *e.reads++; *e.reads == 1 {
		err = errors.Join(err, os.Remove(path), os.WriteFile(path, []byte(text), 0o644))
	}
	return text, err
}

// TestFileChangesWhileItIsCompared checks that the editor is asked again about a file that was written meanwhile, even if the text is the same.
func TestFileChangesWhileItIsCompared(t *testing.T) {
	bubble(t, nil, func(r *room) {
		reads := 0
		r.isLike(rewriting{reads: &reads}, OverlayOptions{})
		require.Equal(r, three, r.shown(r.has("a.txt", three)))
		require.Equal(r, 2, reads)
	})
}

// replacing is an editor that replaces a symbolic link by a file.
type replacing struct{ instant }

func (e replacing) WriteTextFile(ctx context.Context, path, text string) error {
	return errors.Join(os.Remove(path), e.instant.WriteTextFile(ctx, path, text))
}

// TestReplacedLinkIsRestored checks that a symbolic link stays one, and that its target has droid's text.
func TestReplacedLinkIsRestored(t *testing.T) {
	bubble(t, nil, func(r *room) {
		r.isLike(replacing{}, OverlayOptions{})
		target, path := r.has("target.txt", three), r.path("a.txt")
		require.NoError(r, os.Symlink("target.txt", path))
		require.Empty(r, r.edits("1", path, to(four)))
		link, err := os.Readlink(path)
		require.NoError(r, err)
		require.Equal(r, "target.txt", link)
		require.Equal(r, four, r.disk(target))
	})
}

// TestOwnPartOfATextIsNotTold checks that a partial text, left by this program's failed write in place, is not reported as saved by the
// editor, nor is one that somebody has saved over since.
func TestOwnPartOfATextIsNotTold(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		e := &edit{base: three, text: four, n: &content{text: four}, sent: !inPlace}
		if inPlace {
			e.writesInPlace()
		}
		require.NoError(t, e.mergeSaved(&content{text: "one\n"}))
		require.Equal(t, inPlace, e.torn == "")
		require.NoError(t, e.mergeSaved(&content{text: three + "user\n"}))
		require.Empty(t, e.torn)
	}
}

// TestSomebodySavesBehindDroid checks that text which somebody saved before the old text is restored on the disk stays, with droid's edit
// if they do not overlap; otherwise both are reported.
func TestSomebodySavesBehindDroid(t *testing.T) {
	t.Parallel()
	for saved, want := range map[string]string{"somebody\n": "somebody\n", three + "somebody\n": four + "somebody\n", four + "somebody\n": four + "somebody\n"} {
		for _, step := range []stepName{stepNoted, stepOld, stepLink, stepRename} {
			for _, isNew := range []bool{false, true} {
				bubble(t, nil, func(r *room) {
					path, want := r.path("a.txt"), want
					if !isNew {
						r.has("a.txt", three)
					} else if want = saved; step == stepLink || step == stepRename {
						want = four // there is no such step
					}
					ctx := context.Background()
					r.overlay.BeginEdit(ctx, "1", []string{path})
					r.droidWrites(path, four)
					done := false
					r.files.step = func(s stepName) {
						if s == step && !done && !(isNew && s == stepRename) {
							done = true
							r.writes(path, saved)
						}
					}
					note := r.overlay.EndEdit(ctx, "1")
					require.Equal(r, want, r.disk(path))
					missing := !strings.Contains(want, "droid") || isNew && want != four
					require.Equal(r, missing, strings.Contains(note, "could not be written"), note)
					require.Equal(r, missing, len(r.overlay.PendingWarnings()) == 1)
				})
			}
		}
	}
}

// TestDirectoryVanishes: the file's directory is removed in the middle of an edit.
func TestDirectoryVanishes(t *testing.T) {
	t.Parallel()
	for _, step := range []stepName{stepJournal, stepOld, stepLink, stepRename, stepRead, stepWrite, stepLook, stepTimes, stepForget} {
		t.Run(string(step), func(t *testing.T) {
			bubble(t, nil, func(r *room) {
				path := r.has("dir/a.txt", three)
				ctx := context.Background()
				r.overlay.BeginEdit(ctx, "1", []string{path})
				r.droidWrites(path, four)
				r.files.step = func(s stepName) {
					if s == step {
						require.NoError(r, os.RemoveAll(r.path("dir")))
					}
				}
				began := time.Now()
				r.overlay.EndEdit(ctx, "1")
				require.LessOrEqual(r, time.Since(began), 6*time.Second)
				r.files.step = func(stepName) {}
				_, err := os.Stat(path)
				kept := err != nil && step != stepTimes && step != stepForget // then the edit was done
				require.Equal(r, kept, len(r.files.ReplayWarnings()) > 0)
				r.writes(r.has("dir/a.txt", three), "third\n")
				r.overlay.Read(ctx, "r", path)
				require.Equal(r, "third\n", r.disk(path), "nothing is kept for a file that was read and has another text")
			})
		})
	}
}
