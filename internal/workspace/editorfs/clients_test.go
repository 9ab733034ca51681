//go:build unix

package editorfs

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/testeditor"
)

// isLike changes the client of a room.
func (r *room) isLike(editor client, o OverlayOptions) {
	r.overlay.Close()
	r.overlay = r.files.Overlay(async{editor}, o)
}

func (r *room) mtime(path string) time.Time {
	r.Helper()
	info, err := os.Stat(path)
	require.NoError(r, err)
	return info.ModTime()
}

// minding is an editor that minds times and reloads nothing by itself.
func minding(o *testeditor.Options) {
	o.ChecksTimes, o.Delay = true, func() time.Duration { return 24 * time.Hour }
}

// TestOldTextHasItsTime: while the old text is on disk for the editor, the file has the time
// and the mode that the editor knows.
func TestOldTextHasItsTime(t *testing.T) {
	bubble(t, minding, func(r *room) {
		path := r.has("a.txt", three)
		require.NoError(r, os.Chmod(path, 0o640))
		long := time.Unix(1_000_000_000, 123456789)
		require.NoError(r, os.Chtimes(path, long, long))
		r.touched(path)
		time.Sleep(time.Minute)
		r.opened(path)
		seen := false
		r.files.step = func(s stepName) {
			if s == stepRead {
				info, err := os.Stat(path)
				require.NoError(r, err)
				require.True(r, long.Equal(info.ModTime()), info.ModTime())
				require.Equal(r, os.FileMode(0o640), info.Mode())
				seen = true
			}
		}
		ctx := context.Background()
		r.overlay.BeginEdit(ctx, "1", []string{path})
		r.droidWrites(path, four)
		require.NoError(r, os.Chmod(path, 0o600))
		droids := r.mtime(path)
		require.Empty(r, r.overlay.EndEdit(ctx, "1"))
		require.True(r, seen)
		require.Zero(r, r.editor.Asked())
		_, _, listed := r.editor.Review(path)
		require.True(r, listed)
		info, err := os.Stat(path)
		require.NoError(r, err)
		require.Equal(r, droids, info.ModTime())
		require.Equal(r, os.FileMode(0o600), info.Mode(), "droid's mode")
		require.Equal(r, four, r.shown(path))
		require.Equal(r, 1, r.editor.Asked(), "such an editor needs KeepTimes")
	})
}

// TestKeepTimes: an editor that minds times is never asked at a moment when the file has another
// than it knows, and droid finds the time that it knows when it edits.
func TestKeepTimes(t *testing.T) {
	for _, unsavedText := range []bool{false, true} {
		bubble(t, minding, func(r *room) {
			r.isLike(r.editor, OverlayOptions{KeepTimes: true})
			path, ctx := r.has("a.txt", three), context.Background()
			r.opened(path)
			want, droids := r.shown(path), r.mtime(path)
			for i := range 4 {
				id := string(rune('0' + i))
				if unsavedText && i == 2 {
					r.types(path, "typed\n")
					want = "typed\n" + want
					require.Equal(r, want, r.shown(path))
				}
				before := r.mtime(path)
				r.overlay.BeginEdit(ctx, id, []string{path})
				require.Equal(r, droids, r.mtime(path), "droid's edit %d is not refused", i)
				r.overlay.PauseEdit(id, true)
				if i > 0 && !(unsavedText && i == 2) {
					require.Equal(r, before, r.mtime(path))
				}
				require.Equal(r, want, r.shown(path), "others may ask the editor")
				droids = r.mtime(path)
				r.overlay.BeginEdit(ctx, id, []string{path})
				require.Equal(r, droids, r.mtime(path), "a read tells droid the time")
				want += "droid " + id + "\n"
				r.droidWrites(path, want)
				droids = r.mtime(path)
				require.Empty(r, r.overlay.EndEdit(ctx, id))
				require.NotEqual(r, droids, r.mtime(path), "it is that of the editor's own write")
				require.Equal(r, want, r.disk(path))
				_, _, listed := r.editor.Review(path)
				require.True(r, listed)
				require.False(r, r.editor.Dirty(path))
			}
			require.Zero(r, r.editor.Asked())
		})
	}
}

// TestKeepTimesOfAFormattedEdit checks that droid knows the text that the editor has made of its own.
func TestKeepTimesOfAFormattedEdit(t *testing.T) {
	formats := func(o *testeditor.Options) {
		minding(o)
		o.Format = func(_, text string) string { return strings.ReplaceAll(text, "droid", "\tdroid") }
	}
	bubble(t, formats, func(r *room) {
		r.isLike(r.editor, OverlayOptions{KeepTimes: true})
		path, ctx := r.has("a.txt", three), context.Background()
		r.opened(path)
		r.overlay.BeginEdit(ctx, "1", []string{path})
		r.droidWrites(path, four)
		droids := r.mtime(path)
		require.NotEmpty(r, r.overlay.EndEdit(ctx, "1"))
		r.overlay.BeginEdit(ctx, "2", []string{path})
		require.Equal(r, droids, r.mtime(path), "droid's next edit is not refused")
	})
}

// TestKeepTimesOfOtherWrites: what did not pass through the editor is not asked for, and a file
// that droid has written as it was gets the editor's time.
func TestKeepTimesOfOtherWrites(t *testing.T) {
	bubble(t, minding, func(r *room) {
		r.isLike(r.editor, OverlayOptions{KeepTimes: true})
		path, ctx := r.has("a.txt", three), context.Background()
		r.opened(path)
		known := r.mtime(path)
		r.overlay.BeginEdit(ctx, "same", []string{path})
		r.droidWrites(path, three)
		droids := r.mtime(path)
		r.overlay.EndEdit(ctx, "same")
		require.Equal(r, known, r.mtime(path))
		r.overlay.BeginEdit(ctx, "1", []string{path})
		require.Equal(r, droids, r.mtime(path))
		r.overlay.Drop("1")
		require.Equal(r, known, r.mtime(path))

		r.overlay.BeginEdit(ctx, "ends", []string{path})
		r.droidWrites(path, "one\r\ntwo\r\n")
		r.overlay.EndEdit(ctx, "ends")
		time.Sleep(time.Minute)
		require.Equal(r, "one\r\ntwo\r\n", r.shown(path))
		r.overlay.CommandBegan("1")
		r.writes(path, "by a command\n")
		r.overlay.CommandEnded("1")
		time.Sleep(time.Minute)
		require.Equal(r, "by a command\n", r.shown(path))
		r.overlay.BeginEdit(ctx, "2", []string{path})
		r.droidWrites(path, "by droid\n")
		r.overlay.EndEdit(ctx, "2")
		require.Equal(r, "by droid\n", r.disk(path))
		require.Zero(r, r.editor.Asked())
	})
}

// TestKeepTimesReadDuringAnEdit: a read waits until the edit has ended.
func TestKeepTimesReadDuringAnEdit(t *testing.T) {
	bubble(t, minding, func(r *room) {
		r.isLike(r.editor, OverlayOptions{KeepTimes: true})
		path, ctx := r.has("a.txt", three), context.Background()
		r.opened(path)
		for _, id := range []string{"1", "2"} {
			r.overlay.BeginEdit(ctx, id, []string{path})
			done := make(chan string)
			go func() { done <- r.shown(path) }()
			time.Sleep(time.Second)
			r.droidWrites(path, three+id+"\n")
			time.Sleep(time.Second)
			r.overlay.EndEdit(ctx, id)
			require.Equal(r, three+id+"\n", <-done)
		}
		require.Zero(r, r.editor.Asked())
	})
}

// changed is an editor whose answers are changed.
type changed struct {
	client
	read  func(path, text string) string
	write func(ctx context.Context, path, text string) error
}

func (c changed) ReadTextFile(ctx context.Context, path string) (string, error) {
	text, err := c.client.ReadTextFile(ctx, path)
	if c.read != nil {
		text = c.read(path, text)
	}
	return text, err
}

func (c changed) WriteTextFile(ctx context.Context, path, text string) error {
	if c.write != nil {
		return c.write(ctx, path, text)
	}
	return c.client.WriteTextFile(ctx, path, text)
}

// TestEmptyAnswers: an empty text for a file that is not empty is never an unsaved one.
func TestEmptyAnswers(t *testing.T) {
	bubble(t, nil, func(r *room) {
		path := r.has("a.txt", three)
		r.opened(path)
		require.Equal(r, three, r.shown(path))
		r.isLike(changed{client: r.editor, read: func(string, string) string { return "" }}, OverlayOptions{})
		began := time.Now()
		require.Equal(r, three, r.shown(path))
		require.Empty(r, r.edits("1", path, to(four)))
		require.Less(r, time.Since(began), 100*time.Millisecond)
		require.Equal(r, four, r.disk(path))
		require.Empty(r, r.edits("2", r.path("new.txt"), to(four)))
		require.Equal(r, four, r.disk(r.path("new.txt")))
	})
}

// TestLastNewlineIsDropped checks an editor that drops the last newline in reads, and writes its input unchanged.
func TestLastNewlineIsDropped(t *testing.T) {
	for _, text := range []string{three, "one\r\ntwo\r\n", "one\n", "\n", "one\n\n", "one", "one\ntwo"} {
		bubble(t, nil, func(r *room) {
			path, writes, dirty := r.has("a.txt", text), 0, ""
			r.isLike(changed{
				client: instant{},
				read: func(_, text string) string {
					return strings.TrimSuffix(strings.TrimSuffix(dirty+text, "\n"), "\r")
				},
				write: func(ctx context.Context, path, text string) error {
					writes++
					dirty = ""
					return instant{}.WriteTextFile(ctx, path, text)
				},
			}, OverlayOptions{})
			private, err := r.overlay.Read(context.Background(), "r", path)
			require.NoError(r, err)
			require.Empty(r, private)
			r.overlay.BeginEdit(context.Background(), "0", []string{path})
			r.overlay.Drop("0")
			require.Zero(r, writes, "nothing is written back")
			end := "\n"
			if strings.Contains(text, "\r") {
				end = "\r\n"
			}
			for i, want := range []string{"droid" + end + text, text, text + "droid" + end} {
				require.Empty(r, r.edits(string(rune('1'+i)), path, to(want)))
				require.Equal(r, want, r.disk(path))
				require.Equal(r, i+1, writes, "through the editor, once")
			}
			time.Sleep(time.Minute)
			if strings.HasSuffix(text, "\n") {
				dirty = "typed" + end
				require.Equal(r, "typed"+end+text+"droid"+end, r.shown(path))
				r.overlay.BeginEdit(context.Background(), "9", []string{path})
				require.Equal(r, "typed"+end+text+"droid"+end, r.disk(path), "unsaved text keeps the last newline")
				r.overlay.Drop("9")
			}
		})
	}
}

// TestEditorBypassesBuffer: an editor that keeps its unsaved text when the agent writes never has
// it saved over droid's edit.
func TestEditorBypassesBuffer(t *testing.T) {
	bubble(t, func(o *testeditor.Options) { o.BypassBuffer = true }, func(r *room) {
		path := r.has("a.txt", three)
		r.opened(path)
		r.types(path, "typed\n")
		require.Equal(r, "typed\n"+three, r.shown(path))
		want := "typed\n" + four
		require.Empty(r, r.edits("1", path, to(want)))
		require.Equal(r, want, r.disk(path))
		r.types(path, "more\n")
		text, _ := r.editor.Buffer(path)
		require.Equal(r, "more\ntyped\n"+three, text, "this editor does it")
		for i := range 4 {
			time.Sleep(time.Minute)
			if i == 2 {
				r.writes(path, want+"somebody\n")
				want += "somebody\n"
				time.Sleep(time.Minute)
			}
			began := time.Now()
			require.Equal(r, want, r.shown(path))
			want += "droid\n"
			require.Empty(r, r.edits("2", path, to(want)))
			require.Equal(r, want, r.disk(path))
			require.Less(r, time.Since(began), 100*time.Millisecond, "it is not asked")
		}
		other := r.has("b.txt", three)
		r.opened(other)
		r.types(other, "typed\n")
		require.Equal(r, "typed\n"+three, r.shown(other), "of other files it is")
	})
}

// TestEditorBypassesCleanBuffer: it is reloaded, and then the editor is as good as another.
func TestEditorBypassesCleanBuffer(t *testing.T) {
	bubble(t, func(o *testeditor.Options) {
		o.BypassBuffer, o.Delay = true, func() time.Duration { return 250 * time.Millisecond }
	}, func(r *room) {
		path := r.has("a.txt", three)
		r.opened(path)
		require.Empty(r, r.edits("1", path, to(four)))
		require.Equal(r, four, r.disk(path))
		time.Sleep(time.Minute)
		r.types(path, "typed\n")
		require.Equal(r, "typed\n"+four, r.shown(path))
	})
}

// TestTypedBesideAnEdit: an edit did not pass through the editor, since the user was typing. What
// he has typed into the text before it is not saved over it later.
func TestTypedBesideAnEdit(t *testing.T) {
	bubble(t, nil, func(r *room) {
		path, ctx := r.has("a.txt", three), context.Background()
		r.opened(path)
		r.overlay.BeginEdit(ctx, "1", []string{path})
		r.droidWrites(path, four)
		r.types(path, "user\n")
		r.overlay.EndEdit(ctx, "1")
		require.Equal(r, four, r.disk(path))
		time.Sleep(time.Minute)
		require.Equal(r, four, r.shown(path))
		require.Empty(r, r.edits("2", path, to(four+"droid\n")))
		require.Equal(r, four+"droid\n", r.disk(path))
		require.NoError(r, r.editor.Save(path)) // he has decided
		r.touched(path)
		require.Equal(r, "user\n"+three, r.shown(path))
		r.types(path, "again\n")
		time.Sleep(time.Minute)
		require.Equal(r, "again\nuser\n"+three, r.shown(path))
	})
}

// TestEditorReportsWrongText: an editor that says it has written and has not.
func TestEditorReportsWrongText(t *testing.T) {
	bubble(t, nil, func(r *room) {
		r.isLike(changed{client: r.editor, write: func(context.Context, string, string) error { return nil }}, OverlayOptions{})
		path := r.has("a.txt", three)
		r.opened(path)
		require.Empty(r, r.edits("1", path, to(four)))
		require.Equal(r, four, r.disk(path))
		require.Empty(r, r.edits("2", r.path("new.txt"), to(four)))
		require.Equal(r, four, r.disk(r.path("new.txt")))
		third := r.has("b.txt", three)
		r.opened(third)
		r.types(third, "typed\n")
		require.Empty(r, r.edits("3", third, to(four)))
		require.Equal(r, four, r.disk(third))
		text, _ := r.editor.Buffer(third)
		require.Equal(r, "typed\n"+three, text)
	})
}

// TestReloadBehindAWrite checks a reload of the old text that comes after the write. A second write makes the edit the agent's again.
func TestReloadBehindAWrite(t *testing.T) {
	t.Parallel()
	again := 0
	// All other times are whole milliseconds: at the same one, either may come first.
	for delay := 4500 * time.Microsecond; delay < 30*time.Millisecond; delay += time.Millisecond {
		var loads atomic.Bool
		bubble(t, func(o *testeditor.Options) {
			o.Delay = func() time.Duration { return delay }
			o.Load = func() time.Duration {
				if loads.Load() {
					return 12 * time.Millisecond
				}
				return 0
			}
			o.Late = func(method, _ string) time.Duration {
				if method == testeditor.WriteMethod {
					return 15 * time.Millisecond
				}
				return 0
			}
		}, func(r *room) {
			writes := 0
			r.isLike(changed{client: r.editor, write: func(ctx context.Context, path, text string) error {
				writes++
				return r.editor.WriteTextFile(ctx, path, text)
			}}, OverlayOptions{})
			path := r.has("a.txt", three)
			r.opened(path)
			loads.Store(true)
			require.Empty(r, r.edits("1", path, to(four)))
			time.Sleep(10 * time.Second)
			require.Equal(r, four, r.disk(path))
			base, now, listed := r.editor.Review(path)
			t.Log(delay, writes, listed)
			if writes == 2 {
				again++
				require.True(r, listed)
				require.Equal(r, three, base)
				require.Equal(r, four, now)
			}
		})
	}
	require.Positive(t, again, "this editor does it")
}

// instant is an editor that answers at once.
type instant struct{}

func (instant) ReadTextFile(_ context.Context, path string) (string, error) {
	data, err := os.ReadFile(path)
	return string(data), err
}

func (instant) WriteTextFile(_ context.Context, path, text string) error {
	return os.WriteFile(path, []byte(text), 0o644)
}
