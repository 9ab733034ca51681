package adapter

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"droid-acp/internal/fakedroid"
)

// worldsVariable is how many worlds TestWorlds plays in place of 300.
const worldsVariable = "DROID_ACP_WORLDS"

// found are later worlds that have shown something, which was mended.
var found = []int64{
	2199, // a droid that ended while it took its mode back; the next one was given the freer mode in which that had loaded
	2628, // a prompt ran in the mode from before a /mode whose droid had died
}

// TestWorlds plays what nobody has put together. TestWorlds/N repeats the world N; one that fails is made
// shorter as long as it fails in the same way.
func TestWorlds(t *testing.T) {
	worlds := 300
	if testing.Short() {
		worlds = 60
	}
	if n, err := strconv.Atoi(os.Getenv(worldsVariable)); err == nil {
		worlds = n
	}
	for n := range int64(worlds + len(found)) {
		seed := n
		if n >= int64(worlds) {
			seed = found[n-int64(worlds)]
		}
		t.Run(strconv.FormatInt(seed, 10), func(t *testing.T) {
			steps := draw(seed)
			broken, _ := play(t, seed, steps, false)
			if len(broken) == 0 {
				return
			}
			steps, log := shrink(t, seed, steps, kindOf(broken[0]))
			var said strings.Builder
			for _, s := range steps {
				said.WriteString("\n\t" + s.String())
			}
			t.Errorf("%s\nThe shortest world that fails so:%s\n%s", strings.Join(broken, "\n"), said.String(), strings.Join(log, "\n"))
		})
	}
}

// play plays a world and returns what did not hold.
func play(t *testing.T, seed int64, steps []step, logs bool) (broken, log []string) {
	synctest.Test(t, func(t *testing.T) {
		v := []fakedroid.Version{fakedroid.V0225, fakedroid.V099}[seed%2]
		w := newWorld(t, seed, v, logs)
		for _, s := range steps {
			w.step(s)
			w.mu.Lock()
			broken = w.broken
			w.mu.Unlock()
			if len(broken) > 0 {
				break
			}
		}
		w.finish()
		broken, log = w.broken, w.log
	})
	return broken, log
}

var details = regexp.MustCompile(`:.*`)

// kindOf is what of a rule was broken.
func kindOf(broken string) string { return details.ReplaceAllString(broken, "") }

// shrink leaves out steps, and what is in them, while the world fails in the same way.
func shrink(t *testing.T, seed int64, steps []step, kind string) (shortest []step, log []string) {
	fails := func(steps []step) bool {
		for range 3 { // what runs beside each other need not run in the same order
			broken, said := play(t, seed, steps, true)
			for _, b := range broken {
				if kindOf(b) == kind {
					log = append(said, b)
					return true
				}
			}
		}
		return false
	}
	for size := len(steps) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(steps); {
			fewer := append(append([]step{}, steps[:at]...), steps[at+size:]...)
			if fails(fewer) {
				steps = fewer
			} else {
				at += size
			}
		}
	}
	for i := range steps {
		plain := append([]step{}, steps...)
		plain[i].fault, plain[i].lines = "", 0
		if fails(plain) {
			steps = plain
		}
	}
	return steps, log
}
