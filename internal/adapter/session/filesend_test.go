//go:build linux

package session_test

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/testing/testeditor"
)

// The editor goes, droid or the session ends while an edit is on its way to the editor: all of it in time, and the edit arrives, or the
// disk has droid's text.
func TestEndDuringAnEdit(t *testing.T) {
	closed := func(r *filesRoom) { require.Nil(r.t, r.call("session/close", r.inSession("")).Error) }
	for name, tc := range map[string]struct {
		slowAt string
		takes  time.Duration
		end    func(r *filesRoom)
		within time.Duration
	}{
		"the editor goes that reads":  {testeditor.ReadMethod, time.Hour, func(r *filesRoom) { r.close() }, 10 * time.Second},
		"the editor goes that writes": {testeditor.WriteMethod, time.Hour, func(r *filesRoom) { r.close() }, 10 * time.Second},
		"crash":                       {testeditor.WriteMethod, time.Second, func(r *filesRoom) { r.droid().client.Kill() }, 2 * time.Second},
		"cancel":                      {testeditor.WriteMethod, time.Second, func(r *filesRoom) { r.cancel() }, 2 * time.Second},
		"close":                       {testeditor.WriteMethod, time.Second, closed, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bothDroids(t, func(t *testing.T, v fakedroid.Version) {
				var slow atomic.Int64
				r := room(t, v, slowAt(tc.slowAt, &slow))
				path := r.opened("a.txt", "one\ntwo\n", "")
				r.mode("auto-low")
				tool := editOf(path, "two", "three")
				tool.Do = func(fakedroid.Fields) error {
					slow.Store(int64(tc.takes))
					return os.WriteFile(path, []byte("one\nthree\n"), 0o644)
				}
				r.does(tool)
				id := r.prompt("go")
				time.Sleep(500 * time.Millisecond)
				require.Equal(t, "one\ntwo\n", r.disk(path), "the edit is on its way")
				began := time.Now()
				tc.end(r)
				require.Less(t, time.Since(began), tc.within)
				if tc.takes == time.Hour {
					require.Equal(t, "one\nthree\n", r.disk(path))
					return
				}
				r.await(id)
				time.Sleep(10 * time.Second)
				r.holds(path, "one\nthree\n")
				r.free(path)
			})
		})
	}
}

// What panics in a hook's job costs that hook, and nothing else.
func TestPanicInAHook(t *testing.T) {
	bothDroids(t, func(t *testing.T, v fakedroid.Version) {
		r := room(t, v)
		path := r.opened("a.txt", "one\ntwo\n", "")
		r.clock.breaks(true)
		r.does(readOf(path), editOf(path, "two", "three"))
		require.Equal(t, "end_turn", r.run("go"))
		require.Equal(t, "one\nthree\n", r.disk(path))
		require.Positive(t, r.clock.panics)
		r.clock.breaks(false)
		r.does(readOf(path), editOf(path, "three", "four"))
		require.Equal(t, "end_turn", r.run("go"))
		r.holds(path, "one\nfour\n")
		r.reviewed(path, "one\nthree\n")
		require.Len(t, r.processes, 1)
	})
}
