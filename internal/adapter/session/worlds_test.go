//go:build linux

package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"droid-acp/internal/testing/fakedroid"
)

// worldsVariable is how many worlds TestWorlds plays in place of 300.
const worldsVariable = "DROID_ACP_WORLDS"

// found are worlds that have shown something, which was mended.
var found = []struct {
	seed  int64 // says which droid it is and how long that takes
	steps []step
}{
	// A prompt ran in the mode from before a /mode whose droid had died.
	{2628, []step{
		{"/mode", 0, 0, 90, "", 0, 0},
		{"prompt", 0, 2, 903, "", 0, 500000000},
		{"trouble", 0, 2, 356, "", 0, 0},
		{"title", 0, 2, 529, "crash", 0, 0},
		{"answer", 0, 2, 330, "", 0, 500000000},
	}},
	// A droid ended while it took its mode back; the next one was given the freer mode in which that had loaded.
	{2199, []step{
		{"load", 1, 0, 209, "", 0, 0},
		{"/trust-yes", 0, 2, 124, "", 0, 0},
		{"answer", 0, 0, 579, "", 0, 1000000},
		{"mode", 0, 2, 47, "", 0, 50000000},
		{"/rewind-files", 1, 1, 240, "", 0, 3000000000},
		{"load", 0, 2, 638, "", 0, 1000000},
		{"/fork", 1, 1, 566, "crash", 1, 0},
		{"prompt", 1, 0, 138, "", 0, 20000000000},
		{"prompt", 1, 0, 541, "", 0, 20000000000},
	}},
	// A mode that was set while droid went back from a copy was undone.
	{18849, []step{
		{"/mode", 0, 0, 257, "", 0, 3000000000},
		{"/fork", 0, 0, 309, "", 0, 3000000000},
		{"mode", 0, 0, 576, "", 0, 50000000},
		{"mode", 0, 0, 978, "", 0, 500000000},
		{"prompt", 0, 0, 253, "", 0, 1000000},
	}},
	// A command in the background ended without a message, in a session that was closed while it was loaded. That load had been reported as
	// failed, and continued to show its history after its answer.
	{5816, []step{
		{"prompt", 1, 2, 438, "", 0, 20000000000},
		{"answer", 1, 2, 640, "", 0, 50000000},
		{"answer", 0, 2, 849, "", 0, 500000000},
		{"load", 1, 2, 262, "", 0, 0},
		{"close", 1, 2, 321, "", 0, 0},
	}},
	// A compaction was cancelled while the new session got its title; the next prompt ran there before the user knew.
	{11552, []step{
		{"/compact", 0, 0, 82, "cancel one", 3, 1000000},
		{"answer", 0, 2, 723, "", 0, 1000000},
		{"edit", 0, 2, 654, "", 0, 0},
	}},
	// A message behind a cancelled load reached what another window had rewound, without a notice.
	{313, []step{
		{"load", 0, 1, 723, "", 0, 0},
		{"/rewind", 0, 1, 417, "", 0, 50000000},
		{"/compact", 0, 1, 273, "", 0, 3000000000},
		{"load", 1, 2, 953, "cancel one", 0, 120000000000},
		{"steer", 1, 1, 681, "", 0, 120000000000},
	}},
	// An edit was written over by that of another session of the window, whose editor was late.
	{12640, []step{
		{"title", 0, 0, 980, "", 0, 500000000},
		{"task", 1, 0, 283, "", 0, 0},
		{"edit", 1, 0, 708, "", 0, 50000000},
		{"new", 1, 0, 139, "", 0, 0},
		{"load-others", 1, 0, 129, "", 0, 20000000000},
		{"edit", 1, 0, 284, "", 0, 50000000},
		{"edit", 1, 1, 300, "mute", 2, 120000000000},
	}},
}

// TestWorlds plays random combinations. TestWorlds/N repeats the world N; a failing one is shortened as long as it fails in the same way.
func TestWorlds(t *testing.T) {
	worlds := 300
	if testing.Short() {
		worlds = 60
	}
	if n, err := strconv.Atoi(os.Getenv(worldsVariable)); err == nil {
		worlds = n
	}
	played, before := 0, int64(0)
	for seed := range int64(worlds) {
		t.Run(strconv.FormatInt(seed, 10), func(t *testing.T) { played++; holds(t, seed, draw(seed)) })
		if played == 20 && before == 0 {
			before = heap()
		}
	}
	if grown := heap() - before; before > 0 && grown > 1<<20+200*int64(played) { // it was under 0.2 MB for 380 worlds, and 1.8 MB for 20,000
		t.Errorf("%d worlds have left %d bytes", played, grown)
	}
	for i, f := range found {
		t.Run(fmt.Sprint("found ", i), func(t *testing.T) { holds(t, f.seed, f.steps) })
	}
}

// holds plays a world in which all must hold.
func holds(t *testing.T, seed int64, steps []step) {
	t.Setenv("FACTORY_HOME_OVERRIDE", filepath.Join(t.TempDir(), "nobody"))
	broken, _ := play(t, seed, steps, false)
	if len(broken) == 0 {
		return
	}
	steps, log := shrink(t, seed, steps, kindOf(broken[0]))
	var said strings.Builder
	for _, s := range steps {
		said.WriteString("\n\t" + s.String())
	}
	t.Errorf("%s\nThe shortest world of %d that fails so:%s\n%s", strings.Join(broken, "\n"), seed, said.String(), strings.Join(log, "\n"))
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

// kindOf returns a broken rule without its details.
func kindOf(broken string) string { return details.ReplaceAllString(broken, "") }

// shrink omits steps, and parts of them, while the world fails in the same way.
func shrink(t *testing.T, seed int64, steps []step, kind string) (shortest []step, log []string) {
	fails := func(steps []step) bool {
		for range 3 { // the order of concurrent steps varies
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
