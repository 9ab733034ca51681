package testeditor

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReload: a file that changed on the disk is there after its delay, not before.
func TestReload(t *testing.T) {
	inBubble(t, Options{Delay: constant(250 * time.Millisecond), Load: constant(50 * time.Millisecond)}, func(t *testing.T, d *harness) {
		d.write("f", "a\n")
		require.NoError(t, d.Open(d.path("f")))
		d.write("f", "b\r\n")
		time.Sleep(295 * time.Millisecond)
		d.requireBuffer("f", "a\n")
		time.Sleep(20 * time.Millisecond)
		d.requireBuffer("f", "b\n")
		require.False(t, d.Dirty(d.path("f")))
		d.requireNotListed("f")
		require.NoError(t, d.Save(d.path("f")))
		d.requireDisk("f", "b\r\n")
	})
}

// TestReloadOfLargeFile: it is noticed by time, size and inode.
func TestReloadOfLargeFile(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, d *harness) {
		large := strings.Repeat("a line\n", 300_000)
		d.write("f", large)
		require.NoError(t, d.Open(d.path("f")))
		for _, text := range []string{large + "more\n", "first\n" + large} {
			d.write("f", text)
			time.Sleep(time.Second)
			d.requireBuffer("f", text)
		}
		d.read("f")
		d.edit("f", large)
		d.requireDisk("f", large)
		d.requireReview("f", "first\n"+large, large)
	})
}

// TestNoReloadOfDirtyBuffer: unsaved changes stay.
func TestNoReloadOfDirtyBuffer(t *testing.T) {
	inBubble(t, Options{Delay: constant(time.Second)}, func(t *testing.T, d *harness) {
		d.write("f", "a\n")
		require.NoError(t, d.Type(d.path("f"), func(text string) string { return text + "typed\n" }))
		d.write("f", "b\n")
		time.Sleep(time.Minute)
		d.requireBuffer("f", "a\ntyped\n")
		d.requireDisk("f", "b\n")
		require.NoError(t, d.Save(d.path("f")))
		d.requireDisk("f", "a\ntyped\n")
	})
}

// TestOwnSaves are no changes on the disk.
func TestOwnSaves(t *testing.T) {
	var looks atomic.Int32
	inBubble(t, Options{Delay: func() time.Duration { looks.Add(1); return 0 }}, func(t *testing.T, d *harness) {
		d.write("f", "a\n")
		for _, text := range []string{"b\n", "c\n", "d\n"} {
			d.read("f")
			d.edit("f", text)
			time.Sleep(time.Second)
		}
		require.Zero(t, looks.Load())
		d.write("f", "e\n")
		time.Sleep(time.Second)
		require.NotZero(t, looks.Load())
		d.requireBuffer("f", "e\n")
	})
}

// TestLateReload: a reload that has read the file before the agent wrote lands behind it.
// The buffer has the file's text again after the next look at the disk, but then the edit
// is nothing to review.
func TestLateReload(t *testing.T) {
	inBubble(t, Options{Delay: constant(30 * time.Millisecond), Load: constant(100 * time.Millisecond)}, func(t *testing.T, d *harness) {
		d.write("f", "a\n")
		d.read("f")
		d.write("f", "a\nother\n")
		time.Sleep(80 * time.Millisecond) // read, and not landed
		d.edit("f", "A\n")
		d.requireBuffer("f", "A\n")
		time.Sleep(75 * time.Millisecond) // landed 150 ms after it was written
		d.requireBuffer("f", "a\nother\n")
		d.requireDisk("f", "A\n")
		time.Sleep(time.Second)
		d.requireBuffer("f", "A\n")
	})
}

// TestNewerReload: a reload ends the one before it.
func TestNewerReload(t *testing.T) {
	loads := make(chan time.Duration, 2)
	inBubble(t, Options{Load: func() time.Duration {
		select {
		case next := <-loads:
			return next
		default:
			return 10 * time.Millisecond
		}
	}}, func(t *testing.T, d *harness) {
		loads <- 0                      // of the open
		loads <- 500 * time.Millisecond // of the first reload
		d.write("f", "a\n")
		require.NoError(t, d.Open(d.path("f")))
		d.write("f", "first\n")
		time.Sleep(100 * time.Millisecond)
		d.write("f", "second\n")
		time.Sleep(time.Second)
		d.requireBuffer("f", "second\n")
	})
}

// TestDeleted: the text of a file that is gone stays, and the file may come back.
func TestDeleted(t *testing.T) {
	inBubble(t, Options{Delay: constant(100 * time.Millisecond)}, func(t *testing.T, d *harness) {
		d.write("f", "a\nb\n")
		d.read("f")
		d.edit("f", "A\nb\n")
		require.NoError(t, os.Remove(d.path("f")))
		time.Sleep(time.Second)
		d.requireBuffer("f", "A\nb\n")
		require.True(t, d.Deleted(d.path("f")))
		d.requireNotListed("f")
		require.Equal(t, "A\nb\n", d.read("f"))
		d.write("f", "back\n")
		time.Sleep(time.Second)
		d.requireBuffer("f", "back\n")
		require.False(t, d.Deleted(d.path("f")))

		require.NoError(t, os.Remove(d.path("f")))
		time.Sleep(time.Second)
		d.read("f")
		d.edit("f", "again\n")
		d.requireDisk("f", "again\n")
		require.False(t, d.Deleted(d.path("f")))
		d.requireReview("f", "back\n", "again\n")
		require.NoError(t, d.Reject(d.path("f")))
		d.requireDisk("f", "back\n")
	})
}

// TestChangedWhileOpened: while a file is opened, all wait for the one text, and a change of the file
// in between comes as a reload.
func TestChangedWhileOpened(t *testing.T) {
	inBubble(t, Options{Load: constant(100 * time.Millisecond)}, func(t *testing.T, d *harness) {
		d.write("f", "a\n")
		other := make(chan string)
		go func() { other <- d.read("f") }()
		go func() {
			time.Sleep(50 * time.Millisecond)
			other <- d.read("f")
		}()
		time.Sleep(60 * time.Millisecond)
		d.write("f", "b\n")
		require.Equal(t, []string{"a\n", "a\n"}, []string{<-other, <-other})
		time.Sleep(time.Second)
		d.requireBuffer("f", "b\n")
	})
}

// TestMindsTimes: an editor that minds times asks when it finds another than it knows.
func TestMindsTimes(t *testing.T) {
	inBubble(t, Options{Delay: constant(time.Hour), ChecksTimes: true}, func(t *testing.T, d *harness) {
		d.write("f", "a\n")
		require.NoError(t, d.Open(d.path("f")))
		require.Equal(t, "a\n", d.read("f"))
		d.edit("f", "b\n")
		require.Equal(t, "b\n", d.read("f"), "it knows what it has saved")
		require.NoError(t, os.Chtimes(d.path("f"), time.Time{}, time.Unix(1, 0)))
		_, err := d.ReadTextFile(t.Context(), d.path("f"))
		require.ErrorIs(t, err, ErrAsks)
		require.ErrorIs(t, d.WriteTextFile(t.Context(), d.path("f"), "c\n"), ErrAsks)
		require.Equal(t, 2, d.Asked())
		d.requireDisk("f", "b\n")
	})
}

// TestBeside: an editor that writes to the disk has the text only when it reloads it, and keeps
// what is unsaved.
func TestBeside(t *testing.T) {
	inBubble(t, Options{Delay: constant(30 * time.Millisecond), BypassBuffer: true}, func(t *testing.T, d *harness) {
		d.write("f", "a\n")
		require.NoError(t, d.Open(d.path("f")))
		d.edit("f", "b\n")
		d.requireDisk("f", "b\n")
		d.requireBuffer("f", "a\n")
		time.Sleep(time.Second)
		d.requireBuffer("f", "b\n")
		require.NoError(t, d.Type(d.path("f"), func(text string) string { return "typed\n" + text }))
		d.edit("f", "c\n")
		time.Sleep(time.Second)
		d.requireDisk("f", "c\n")
		d.requireBuffer("f", "typed\nb\n")
	})
}
