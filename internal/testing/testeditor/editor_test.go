package testeditor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, d *harness) {
		d.write("a", "one\n")
		require.Equal(t, "one\n", d.read("a"))
		require.NoError(t, d.Type(d.path("a"), func(text string) string { return text + "two\n" }))
		require.Equal(t, "one\ntwo\n", d.read("a"), "with unsaved changes")
		require.True(t, d.Dirty(d.path("a")))
		d.requireDisk("a", "one\n")
		require.NoError(t, d.Save(d.path("a")))
		require.False(t, d.Dirty(d.path("a")))
		d.requireDisk("a", "one\ntwo\n")
		d.requireNotListed("a")
	})
}

func TestNotFound(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, d *harness) {
		outside := t.TempDir() + "/file"
		require.NoError(t, os.WriteFile(outside, nil, 0o644))
		for _, path := range []string{d.path("absent"), outside, d.path("../file"), "relative"} {
			_, err := d.ReadTextFile(t.Context(), path)
			require.EqualError(t, err, "Resource not found: "+path)
			require.IsType(t, new(NotFoundError), err)
			require.Error(t, d.Open(path))
			require.Error(t, d.Save(path))
		}
		require.EqualError(t, d.WriteTextFile(t.Context(), outside, "x"), "Resource not found: "+outside)
		_, open := d.Buffer(d.path("absent"))
		require.False(t, open)
	})
}

// TestEncoding: what a file's text does not show stays in the file.
func TestEncoding(t *testing.T) {
	for name, tc := range map[string]struct{ disk, text, write, after string }{
		"unix":         {"a\nb\n", "a\nb\n", "a\nB\n", "a\nB\n"},
		"windows":      {"a\r\nb\r\n", "a\nb\n", "a\nB\n", "a\r\nB\r\n"},
		"sent as such": {"a\r\nb\r\n", "a\nb\n", "a\r\nB\r\n", "a\r\nB\r\n"},
		"not as such":  {"a\nb\n", "a\nb\n", "a\r\nB\r\n", "a\nB\n"},
		"mixed":        {"a\nb\r\nc\rd", "a\nb\nc\nd", "a\nb\nc\nD", "a\nb\nc\nD"},
		"a mark":       {"\ufeffa\r\n", "a\n", "b\n", "\ufeffb\r\n"},
		"no last end":  {"a\nb", "a\nb", "a\nB", "a\nB"},
		"unicode":      {"ä\n日本\n", "ä\n日本\n", "ä\n日本🎉\n", "ä\n日本🎉\n"},
		"empty":        {"", "", "a\r\n", "a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, d *harness) {
				d.write("f", tc.disk)
				require.Equal(t, tc.text, d.read("f"))
				d.edit("f", tc.write)
				d.requireDisk("f", tc.after)
				d.requireReview("f", tc.text, normalized(tc.write))
				require.NoError(t, d.Reject(d.path("f")))
				got, err := os.ReadFile(d.path("f"))
				require.NoError(t, err)
				require.Equal(t, tc.text, strings.ReplaceAll(strings.TrimPrefix(string(got), "\ufeff"), "\r\n", "\n"))
			})
		})
	}
	inBubble(t, Options{}, func(t *testing.T, d *harness) {
		d.write("f", "\xff")
		_, err := d.ReadTextFile(t.Context(), d.path("f"))
		require.EqualError(t, err, "the file is not in UTF-8")
	})
}

func TestNewFile(t *testing.T) {
	inBubble(t, Options{Format: func(_, text string) string { return text + "formatted\n" }}, func(t *testing.T, d *harness) {
		d.edit("new/dir/f", "a\n")
		d.requireDisk("new/dir/f", "a\nformatted\n")
		d.requireReview("new/dir/f", "", "a\nformatted\n")
		require.Equal(t, []string{d.path("new/dir/f")}, d.Listed())
		require.NoError(t, d.Reject(d.path("new/dir/f")))
		require.NoFileExists(t, d.path("new/dir/f"))
		_, open := d.Buffer(d.path("new/dir/f"))
		require.False(t, open)

		d.edit("empty", "")
		d.requireReview("empty", "", "formatted\n")
		d.edit("kept", "a\n")
		d.Keep(d.path("kept"))
		d.requireNotListed("kept")
		require.NoError(t, d.Reject(d.path("kept")))
		d.requireDisk("kept", "a\nformatted\n")
	})
}

// TestNewFileOfBoth: a file that the agent has created and the user edited stays.
func TestNewFileOfBoth(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, d *harness) {
		d.edit("f", "a\n")
		require.NoError(t, d.Type(d.path("f"), func(text string) string { return text + "user\n" }))
		require.NoError(t, d.Reject(d.path("f")))
		d.requireBuffer("f", "a\nuser\n")
		d.requireDisk("f", "a\n")
		d.requireNotListed("f")
	})
}

// TestModeAndLinks: a save keeps the mode bits, goes through links and leaves nothing.
func TestModeAndLinks(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, d *harness) {
		require.NoError(t, os.Mkdir(d.path("dir"), 0o755))
		d.write("dir/script", "a\n")
		require.NoError(t, os.Chmod(d.path("dir/script"), 0o751))
		require.NoError(t, os.Symlink("dir/script", d.path("link")))
		require.NoError(t, os.Symlink("dir/later", d.path("dangling")))
		d.read("link")
		d.edit("link", "b\n")
		d.edit("dangling", "c\n")
		d.requireDisk("dir/script", "b\n")
		d.requireDisk("dir/later", "c\n")
		for link, to := range map[string]string{"link": "dir/script", "dangling": "dir/later"} {
			got, err := os.Readlink(d.path(link))
			require.NoError(t, err)
			require.Equal(t, to, got)
		}
		info, err := os.Stat(d.path("dir/script"))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o751), info.Mode())
		d.requireNothingLeft()
	})
}

// TestReadOnly: the edit is in the buffer, not in the file, and the agent gets an error.
func TestReadOnly(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, d *harness) {
		require.NoError(t, os.Chmod(d.write("f", "a\n"), 0o444))
		d.read("f")
		require.ErrorIs(t, d.WriteTextFile(t.Context(), d.path("f"), "b\n"), fs.ErrPermission)
		d.requireDisk("f", "a\n")
		d.requireBuffer("f", "b\n")
		require.True(t, d.Dirty(d.path("f")))
		require.NoError(t, os.Mkdir(d.path("dir"), 0o755))
		require.Error(t, d.WriteTextFile(t.Context(), d.path("dir"), "b\n"))
		d.requireNothingLeft()
	})
}

// TestBaseOfWrites: a write is compared with what was read last, a second write as well,
// and with the buffer only where nothing was read.
func TestBaseOfWrites(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, d *harness) {
		d.write("f", "a\nb\nc\n")
		d.read("f")
		require.NoError(t, d.Type(d.path("f"), func(text string) string { return "0\n" + text }))
		d.edit("f", "a\nB\nc\n")
		d.requireDisk("f", "0\na\nB\nc\n")
		d.requireReview("f", "0\na\nb\nc\n", "0\na\nB\nc\n")
		d.edit("f", "a\nB\nc\n")
		d.requireDisk("f", "0\na\nB\nB\nc\n")

		d.write("unread", "a\nb\n")
		d.edit("unread", "a\nB\n")
		d.edit("unread", "a\nBB\n")
		d.requireDisk("unread", "a\nBB\n")
		d.requireReview("unread", "a\nb\n", "a\nBB\n")
	})
}

func TestFormat(t *testing.T) {
	inBubble(t, Options{Format: func(_, text string) string { return strings.ReplaceAll(text, "\t", "    ") }}, func(t *testing.T, d *harness) {
		d.write("f", "\ta\nb\n")
		d.read("f")
		d.edit("f", "\ta\n\tb\n")
		d.requireDisk("f", "    a\n    b\n")
		d.requireReview("f", "\ta\nb\n", "    a\n    b\n")
		d.Keep(d.path("f"))
		require.NoError(t, d.Type(d.path("f"), func(text string) string { return "\t" + text }))
		require.NoError(t, d.Save(d.path("f")))
		d.requireDisk("f", "        a\n    b\n")
		d.requireNotListed("f")
	})
}

// TestReview: the user's edits are no change to review, and Reject leaves them.
func TestReview(t *testing.T) {
	inBubble(t, Options{Delay: constant(time.Second)}, func(t *testing.T, d *harness) {
		d.write("f", "a\nb\nc\n")
		d.read("f")
		d.edit("f", "a\nB\nc\n")
		require.NoError(t, d.Type(d.path("f"), func(text string) string { return "typed\n" + text }))
		d.requireReview("f", "typed\na\nb\nc\n", "typed\na\nB\nc\n")
		require.NoError(t, d.Save(d.path("f")))
		d.write("f", "typed\na\nB\nc\nreloaded\n")
		time.Sleep(2 * time.Second)
		d.requireReview("f", "typed\na\nb\nc\nreloaded\n", "typed\na\nB\nc\nreloaded\n")
		d.read("f")
		d.edit("f", "typed\na\nB\nc\nreloaded\nmore\n")
		require.NoError(t, d.Reject(d.path("f")))
		d.requireDisk("f", "typed\na\nb\nc\nreloaded\n")
		d.requireBuffer("f", "typed\na\nb\nc\nreloaded\n")
		d.requireNotListed("f")
		require.NoError(t, d.Reject(d.path("f")), "again does nothing")

		d.read("f")
		d.edit("f", "x\n")
		d.Keep(d.path("f"))
		d.requireNotListed("f")
		require.NoError(t, d.Reject(d.path("f")))
		d.requireDisk("f", "x\n")
		d.read("f")
		d.edit("f", "x\n")
		d.requireNotListed("f")
	})
}

// TestFailures: answers that are slow, late or errors.
func TestFailures(t *testing.T) {
	var fail error
	o := Options{
		Slow: func(method, _ string) time.Duration {
			return map[string]time.Duration{WriteMethod: time.Second}[method]
		},
		Late: func(method, _ string) time.Duration {
			return map[string]time.Duration{WriteMethod: time.Minute}[method]
		},
		Fail: func(_, _ string) error { return fail },
	}
	inBubble(t, o, func(t *testing.T, d *harness) {
		d.write("f", "a\n")
		start := time.Now()
		require.Equal(t, "a\n", d.read("f"))
		require.Zero(t, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, d.WriteTextFile(ctx, d.path("f"), "b\n"), context.DeadlineExceeded)
		require.Equal(t, 500*time.Millisecond, time.Since(start))
		d.requireDisk("f", "a\n")
		time.Sleep(600 * time.Millisecond)
		d.requireDisk("f", "b\n")
		d.read("f")
		d.edit("f", "b\nc\n")
		require.Greater(t, time.Since(start), time.Minute)

		fail = errors.New("no")
		require.Equal(t, fail, d.WriteTextFile(t.Context(), d.path("f"), "c\n"))
		d.requireDisk("f", "b\nc\n")
	})
}

// TestClose: requests that wait end, and later ones do nothing.
func TestClose(t *testing.T) {
	inBubble(t, Options{Load: constant(time.Hour), Slow: func(method, _ string) time.Duration {
		return map[string]time.Duration{WriteMethod: time.Hour}[method]
	}}, func(t *testing.T, d *harness) {
		d.write("f", "a\n")
		var waiting sync.WaitGroup
		for range 2 { // one loads, one waits for that
			waiting.Go(func() {
				_, err := d.ReadTextFile(t.Context(), d.path("f"))
				require.ErrorIs(t, err, ErrClosed)
			})
		}
		waiting.Go(func() { require.ErrorIs(t, d.WriteTextFile(t.Context(), d.path("f"), "b\n"), ErrClosed) })
		synctest.Wait()
		d.Close()
		waiting.Wait()
		require.ErrorIs(t, d.WriteTextFile(t.Context(), d.path("f"), "b\n"), ErrClosed)
		require.ErrorIs(t, d.Open(d.path("f")), ErrClosed)
		d.requireDisk("f", "a\n")
	})
}

// TestAtOnce: methods may be called at once.
func TestAtOnce(t *testing.T) {
	inBubble(t, Options{Delay: constant(3 * time.Millisecond), Load: constant(time.Millisecond), Format: func(_, text string) string { return text }}, func(t *testing.T, d *harness) {
		d.write("f", "a\nb\nc\n")
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for range 10 {
					switch i {
					case 0:
						_, err := d.ReadTextFile(t.Context(), d.path("f"))
						require.NoError(t, err)
					case 1:
						require.NoError(t, d.WriteTextFile(t.Context(), d.path("f"), "a\nB\nc\n"))
					case 2:
						require.NoError(t, d.Type(d.path("f"), func(text string) string { return text + "x\n" }))
					case 3:
						_ = d.Save(d.path("f"))
					case 4:
						require.NoError(t, os.WriteFile(d.path("f"), []byte("a\nD\nc\n"), 0o644))
					case 5:
						d.Review(d.path("f"))
						d.Dirty(d.path("f"))
						d.Deleted(d.path("f"))
						d.Listed()
					case 6:
						d.Keep(d.path("f"))
						require.NoError(t, d.Reject(d.path("f")))
					case 7:
						_ = d.WriteTextFile(t.Context(), d.path("new"), "x\n")
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		all.Wait()
		time.Sleep(time.Second)
		require.NoError(t, d.Save(d.path("f")))
		text, _ := d.Buffer(d.path("f"))
		d.requireDisk("f", text)
		d.requireNothingLeft()
	})
}
