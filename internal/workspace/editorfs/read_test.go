//go:build unix

package editorfs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/testeditor"
)

// bubble runs a test in a new room.
func bubble(t *testing.T, change func(*testeditor.Options), test func(r *room)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t, change)
		test(r)
		r.close()
	})
}

// watching is an editor that looks at the disk so late.
func watching(late time.Duration) func(*testeditor.Options) {
	return func(o *testeditor.Options) { o.Delay = func() time.Duration { return late } }
}

func TestReadAfterACommand(t *testing.T) {
	bubble(t, watching(1500*time.Millisecond), func(r *room) {
		path := r.has("a.txt", "one\n")
		r.opened(path)
		r.types(path, "typed\n")
		require.NoError(r, r.editor.Save(path))
		require.Equal(r, "typed\none\n", r.shown(path))
		r.overlay.CommandBegan("1")
		r.writes(path, "by a command\n")
		began := time.Now()
		require.Equal(r, "by a command\n", r.shown(path))
		r.overlay.CommandEnded("1")
		require.Equal(r, "by a command\n", r.shown(path))
		require.Less(r, time.Since(began), 100*time.Millisecond, "nobody waits for the editor")
		time.Sleep(2 * time.Second) // it has reloaded the file
		require.Equal(r, "by a command\n", r.shown(path))
		r.types(path, "typed again\n")
		require.Equal(r, "typed again\nby a command\n", r.shown(path), "the editor had the command's text before")
		require.Equal(r, "by a command\n", r.disk(path))
	})
}

func TestReadOfADirtyBufferAfterACommand(t *testing.T) {
	bubble(t, nil, func(r *room) {
		path := r.has("a.txt", "one\n")
		r.opened(path)
		r.types(path, "typed\n")
		r.overlay.CommandBegan("1")
		r.writes(path, "by a command\n")
		r.overlay.CommandEnded("1")
		time.Sleep(time.Minute)
		require.Equal(r, "by a command\n", r.shown(path))
		require.Empty(r, r.edits("e", path, func(s string) string { return s + "droid\n" }))
		require.Equal(r, "by a command\ndroid\n", r.disk(path), "the unsaved text is not saved over it")
		require.True(r, r.editor.Dirty(path), "it is still the user's")
	})
}

func TestReadWaitsForAReload(t *testing.T) {
	bubble(t, watching(1500*time.Millisecond), func(r *room) {
		path := r.has("a.txt", "one\n")
		r.opened(path)
		r.writes(path, "by somebody\n") // not known to droid, such as git in a terminal
		began := time.Now()
		require.Equal(r, "by somebody\n", r.shown(path))
		require.InDelta(r, 1500, time.Since(began).Milliseconds(), 60)
		r.types(path, "typed\n")
		began = time.Now()
		require.Equal(r, "typed\nby somebody\n", r.shown(path))
		require.Less(r, time.Since(began), 10*time.Millisecond, "it was seen to have the disk's text")
	})
	bubble(t, watching(time.Hour), func(r *room) {
		path := r.has("a.txt", "one\n")
		r.opened(path)
		require.Equal(r, "one\n", r.shown(path))
		r.writes(path, "by somebody\n")
		began := time.Now()
		require.Equal(r, "by somebody\n", r.shown(path), "an editor that notices nothing")
		require.LessOrEqual(r, time.Since(began), 3*time.Second)
		time.Sleep(time.Minute)
		require.Equal(r, "by somebody\n", r.shown(path))
		r.edits("e", path, to("droid\n"))
		require.Equal(r, "droid\n", r.disk(path))
	})
}

// TestReadWhileTheUserSavesAndTypes: a text that has just been saved and is typed on.
func TestReadWhileTheUserSavesAndTypes(t *testing.T) {
	bubble(t, nil, func(r *room) {
		path := r.has("a.txt", "one\n")
		r.opened(path)
		r.types(path, "saved\n")
		require.NoError(r, r.editor.Save(path))
		r.touched(path)
		r.types(path, "typed\n")
		time.Sleep(time.Second)
		began := time.Now()
		require.Equal(r, "typed\nsaved\none\n", r.shown(path))
		require.InDelta(r, 2000, time.Since(began).Milliseconds(), 60, "until no reload can come any more")
	})
}

func TestReadOfASilentEditor(t *testing.T) {
	var asked atomic.Int32
	bubble(t, func(o *testeditor.Options) {
		o.Slow = func(method, path string) time.Duration { asked.Add(1); return time.Hour }
	}, func(r *room) {
		path := r.has("a.txt", "one\n")
		began := time.Now()
		require.Equal(r, "one\n", r.shown(path))
		require.Equal(r, 3*time.Second, time.Since(began))
		require.Equal(r, "one\n", r.shown(path))
		require.Equal(r, 3*time.Second, time.Since(began))
		require.EqualValues(r, 1, asked.Load())
		time.Sleep(silence)
		require.Equal(r, "one\n", r.shown(path))
		require.EqualValues(r, 2, asked.Load())
		ctx, cancel := context.WithCancel(context.Background())
		time.Sleep(silence)
		go cancel()
		_, err := r.overlay.Read(ctx, "r", path)
		require.NoError(r, err)
		require.False(r, r.overlay.isSilent(), "that is not the editor's fault")
	})
}

// TestAnswersThatDoNotHelp: an editor that answers, and has another text than is waited for
// until the time is over, is not one that does not answer.
func TestAnswersThatDoNotHelp(t *testing.T) {
	change := func(o *testeditor.Options) {
		o.Slow = func(string, string) time.Duration { return 400 * time.Millisecond }
		o.Delay = func() time.Duration { return time.Hour }
	}
	t.Run("read", func(t *testing.T) {
		bubble(t, change, func(r *room) {
			path := r.has("a.txt", three)
			r.opened(path)
			require.Equal(r, three, r.shown(path))
			r.writes(path, four)
			began := time.Now()
			require.Equal(r, four, r.shown(path), "the buffer has the text from before")
			require.Equal(r, 3*time.Second, time.Since(began))
			require.False(r, r.overlay.isSilent())
		})
	})
	t.Run("edit", func(t *testing.T) {
		bubble(t, change, func(r *room) {
			path := r.has("a.txt", three)
			r.opened(path)
			r.overlay.BeginEdit(context.Background(), "1", []string{path})
			r.types(path, "typed\n")
			r.droidWrites(path, four)
			r.overlay.EndEdit(context.Background(), "1")
			require.Equal(r, four, r.disk(path))
			require.False(r, r.overlay.isSilent())
		})
	})
}

func TestPrivateFilesEnd(t *testing.T) {
	bubble(t, nil, func(r *room) {
		path := r.has("a.txt", "one\r\n")
		r.opened(path)
		r.types(path, "typed\n")
		private, err := r.overlay.Read(context.Background(), "1", path)
		require.NoError(r, err)
		require.Equal(r, "typed\r\none\r\n", r.disk(private))
		info, err := os.Stat(private)
		require.NoError(r, err)
		require.True(r, info.Mode().IsRegular())
		r.overlay.Drop("2")
		require.FileExists(r, private)
		r.overlay.Drop("1")
		r.overlay.Drop("1")
		gone := func() bool { // or another file has its number
			now, err := os.Stat(private)
			return err != nil || !os.SameFile(info, now)
		}
		require.True(r, gone())
		private, err = r.overlay.Read(context.Background(), "3", path)
		require.NoError(r, err)
		info, err = os.Stat(private)
		require.NoError(r, err)
		r.overlay.Close()
		require.True(r, gone())
		_, err = r.overlay.Read(context.Background(), "4", path)
		require.NoError(r, err, "a overlay that is closed asks nobody")
	})
}

// TestHostilePaths checks that anything but a plain file is never opened, and never requested from the editor.
func TestHostilePaths(t *testing.T) {
	var asked atomic.Int32
	bubble(t, func(o *testeditor.Options) {
		o.Root = "/"
		o.Slow = func(string, string) time.Duration { asked.Add(1); return 0 }
	}, func(r *room) {
		require.NoError(r, os.Mkdir(r.path("dir"), 0o755))
		makeFIFO(r)
		require.NoError(r, os.Symlink("nowhere", r.path("dangling")))
		require.NoError(r, os.Symlink("loop", r.path("loop")))
		require.NoError(r, os.Symlink("fifo", r.path("tofifo")))
		require.NoError(r, os.Symlink("/dev/zero", r.path("tozero")))
		r.has("huge", strings.Repeat("a", maxSize+1))
		paths := []string{
			r.path("dir"), r.path("fifo"), r.path("dangling"), r.path("loop"), r.path("tofifo"), r.path("tozero"), r.path("huge"),
			"/dev/zero", "/dev/tty", "/proc/self/comm", "relative", "", r.path("dangling/x"), r.path("huge/x"), "/", "a\x00b",
		}
		for _, path := range paths {
			private, err := r.overlay.Read(context.Background(), "r", path)
			require.NoError(r, err)
			require.Empty(r, private, path)
		}
		_, err := resolve("relative")
		require.ErrorIs(r, err, errPath)
		r.overlay.BeginEdit(context.Background(), "1", paths)
		require.Empty(r, r.overlay.EndEdit(context.Background(), "1"))
		require.Zero(r, asked.Load())
		require.Equal(r, maxSize+1, len(r.disk(r.path("huge"))))
	})
}

// TestLateAnswersSilenceReads: an edit that has found the editor slow spares the reads after it.
func TestLateAnswersSilenceReads(t *testing.T) {
	var slow atomic.Bool
	bubble(t, func(o *testeditor.Options) {
		o.Slow = func(string, string) time.Duration {
			if slow.Load() {
				return 5 * time.Second
			}
			return 0
		}
	}, func(r *room) {
		path := r.has("a.txt", three)
		ctx := context.Background()
		r.overlay.BeginEdit(ctx, "1", []string{path})
		r.droidWrites(path, four)
		slow.Store(true)
		r.overlay.EndEdit(ctx, "1")
		require.True(r, r.overlay.isSilent())
		began := time.Now()
		require.Equal(r, four, r.shown(path))
		require.Equal(r, began, time.Now())
	})
}

// TestUnsaved checks that unsaved text is found, that the request saves nothing, and that the answer is unknown if the editor does not
// answer.
func TestUnsaved(t *testing.T) {
	var slow atomic.Int64
	bubble(t, func(o *testeditor.Options) {
		o.Slow = func(_, _ string) time.Duration { return time.Duration(slow.Load()) }
	}, func(r *room) {
		path := r.has("a.txt", "one\r\ntwo\r\n")
		is := func(want string, known bool) {
			r.Helper()
			text, ok := r.overlay.Unsaved(r.Context(), path)
			require.Equal(r, known, ok)
			require.Equal(r, want != "", text != nil)
			if text != nil {
				require.Equal(r, want, *text)
			}
		}
		is("", true)
		r.opened(path)
		r.types(path, "typed\n")
		is("typed\r\none\r\ntwo\r\n", true)
		require.Equal(r, "one\r\ntwo\r\n", r.disk(path))
		require.NoError(r, r.editor.Save(path))
		is("", true)
		slow.Store(int64(time.Minute))
		is("", false)
		slow.Store(0)
		is("", false) // it is not asked for a while
		time.Sleep(time.Minute)
		is("", true)
		require.NoError(r, os.Remove(path))
		is("", true)
		path = filepath.Join(filepath.Dir(r.dir), "elsewhere")
		r.writes(path, "not the editor's\n")
		is("", true)
		path = r.has("b.txt", "mixed\r\nends\n")
		is("", false)
	})
}

// TestCommandsEndWithTheirOverlay checks that a session that ends takes none of another's commands for ended.
func TestCommandsEndWithTheirOverlay(t *testing.T) {
	bubble(t, nil, func(r *room) {
		other := r.files.Overlay(async{r.editor}, OverlayOptions{})
		defer other.Close()
		r.overlay.CommandBegan("1")
		other.CommandBegan("1")
		r.overlay.Close()
		require.Len(r, r.files.commands.open, 1)
		require.Contains(r, r.files.commands.open, commandKey{other, "1"})
	})
}
