package testeditor

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	oldText = "one\ntwo\nthree\n"
	newText = "one\nTWO\nthree\n"
)

// order is a way to bring droid's edit of a file into the editor. Between droid's write
// and the next step some time passes.
type order func(d *harness, passes time.Duration)

// naive takes no notice of the watcher.
func naive(d *harness, passes time.Duration) {
	d.read("f")
	d.write("f", newText)
	time.Sleep(passes)
	d.edit("f", newText)
}

// careful puts the old text back and waits until the editor surely has it.
func careful(d *harness, passes time.Duration) {
	d.read("f")
	d.write("f", newText)
	time.Sleep(passes)
	d.write("f", oldText)
	for seen := 0; seen < 2; time.Sleep(20 * time.Millisecond) {
		if seen++; d.read("f") != oldText {
			seen = 0
		}
	}
	d.edit("f", newText)
}

// outcome is the result of an order, long after it.
type outcome struct {
	twice      bool // the edit
	reviewable bool
	rejected   string // the file after Reject
}

func follow(t *testing.T, o Options, passes time.Duration, how order) (got outcome) {
	inBubble(t, o, func(t *testing.T, d *harness) {
		d.write("f", oldText)
		how(d, passes)
		time.Sleep(10 * time.Second)
		text, _ := d.Buffer(d.path("f"))
		d.requireDisk("f", text)
		base, now, listed := d.Review(d.path("f"))
		got.twice = text == "one\nTWO\nTWO\nthree\n"
		require.True(t, got.twice || text == newText, text)
		got.reviewable = listed && base == oldText && now == newText
		require.NoError(t, d.Reject(d.path("f")))
		text, _ = d.Buffer(d.path("f"))
		d.requireDisk("f", text)
		got.rejected = text
	})
	return got
}

// delays are watchers: immediate, soon, late, and with random delays.
func delays() map[string]func() time.Duration {
	all := map[string]func() time.Duration{"random": func() time.Duration { return rand.N(1500 * time.Millisecond) }}
	for _, ms := range []int{0, 30, 250, 1500} {
		all[fmt.Sprint(ms, " ms")] = constant(time.Duration(ms) * time.Millisecond)
	}
	return all
}

// TestOrders: the test editor tells the wrong order from the right one.
func TestOrders(t *testing.T) {
	right, doubled := outcome{reviewable: true, rejected: oldText}, outcome{twice: true, rejected: newText}
	seen := make(map[outcome]bool) // of the naive order
	for name, delay := range delays() {
		for _, passes := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, time.Second, 3 * time.Second} {
			t.Run(fmt.Sprint(name, ", ", passes, " pass"), func(t *testing.T) {
				o := Options{Delay: delay}
				require.Equal(t, right, follow(t, o, passes, careful))
				got := follow(t, o, passes, naive)
				seen[got] = true
				switch {
				case name == "random":
					require.Contains(t, []outcome{right, doubled}, got)
				case delay()+poll < passes:
					require.Equal(t, doubled, got)
				case passes < delay() || passes == 0:
					require.Equal(t, right, got)
				}
			})
		}
	}
	require.Contains(t, seen, doubled)
}

// TestReloadUnderWay: two reads that return the old text are no proof. A reload of the
// text that was put back may have read the file before the agent's write and land behind
// it. The file is right, but the edit is nothing to review any more. Who looks again when
// that reload has landed, and finds the old text, writes once more.
func TestReloadUnderWay(t *testing.T) {
	o := Options{Delay: constant(30 * time.Millisecond), Load: constant(12 * time.Millisecond)}
	require.Equal(t, outcome{rejected: newText}, follow(t, o, 0, careful))
	require.Equal(t, outcome{reviewable: true, rejected: oldText}, follow(t, o, 0, func(d *harness, passes time.Duration) {
		careful(d, passes)
		time.Sleep(20 * time.Millisecond)
		require.Equal(d.t, oldText, d.read("f"))
		d.edit("f", newText)
	}))
}

// TestNothingToReview: what is on the disk and in the buffer already is no edit.
func TestNothingToReview(t *testing.T) {
	inBubble(t, Options{Delay: constant(30 * time.Millisecond)}, func(t *testing.T, d *harness) {
		d.write("f", oldText)
		d.read("f")
		d.write("f", newText)
		time.Sleep(time.Second)
		require.Equal(t, newText, d.read("f"))
		d.edit("f", newText)
		d.requireDisk("f", newText)
		d.requireNotListed("f")
	})
}
