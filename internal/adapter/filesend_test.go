//go:build linux

package adapter

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/testing/testeditor"
)

// The editor goes while an edit is on its way to it: the agent ends in time, and the disk
// has droid's text.
func TestEditorGoesDuringAnEdit(t *testing.T) {
	for _, method := range []string{testeditor.ReadMethod, testeditor.WriteMethod} {
		t.Run(filepath.Base(method), func(t *testing.T) {
			bothDroids(t, func(t *testing.T, v fakedroid.Version) {
				var slow atomic.Bool
				r := room(t, v, func(r *filesRoom) {
					r.o.Slow = func(m, _ string) time.Duration {
						if slow.Load() && m == method {
							return time.Hour
						}
						return 0
					}
				})
				path := r.opened("a.txt", "one\ntwo\n", "")
				r.mode("auto-low")
				tool := editOf(path, "two", "three")
				tool.Do = func(fakedroid.Fields) error {
					slow.Store(true)
					return os.WriteFile(path, []byte("one\nthree\n"), 0o644)
				}
				r.does(tool)
				r.prompt("go")
				time.Sleep(500 * time.Millisecond)
				require.Equal(t, "one\ntwo\n", r.disk(path), "the edit is on its way")
				began := time.Now()
				r.close()
				require.Less(t, time.Since(began), 10*time.Second)
				require.Equal(t, "one\nthree\n", r.disk(path))
			})
		})
	}
}

// droid or the session ends while an edit is on its way to the editor: it arrives, or the
// disk has droid's text.
func TestSessionEndsDuringAnEdit(t *testing.T) {
	for name, end := range map[string]func(r *filesRoom){
		"crash":  func(r *filesRoom) { r.droid().client.Kill() },
		"cancel": func(r *filesRoom) { r.cancel() },
		"close": func(r *filesRoom) {
			began := time.Now()
			require.Nil(r.t, r.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, r.session)).Error)
			require.Less(r.t, time.Since(began), 2*time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bothDroids(t, func(t *testing.T, v fakedroid.Version) {
				var slow atomic.Bool
				r := room(t, v, func(r *filesRoom) {
					r.o.Slow = func(m, _ string) time.Duration {
						if slow.Load() && m == testeditor.WriteMethod {
							return time.Second
						}
						return 0
					}
				})
				path := r.opened("a.txt", "one\ntwo\n", "")
				tool := editOf(path, "two", "three")
				tool.Do = func(fakedroid.Fields) error {
					slow.Store(true)
					return os.WriteFile(path, []byte("one\nthree\n"), 0o644)
				}
				r.does(tool)
				id := r.prompt("go")
				time.Sleep(500 * time.Millisecond)
				require.Equal(t, "one\ntwo\n", r.disk(path), "the edit is on its way")
				end(r)
				r.await(id)
				time.Sleep(10 * time.Second)
				require.Equal(t, "one\nthree\n", r.disk(path))
				require.Equal(t, "one\nthree\n", r.buffer(path))
				require.False(t, r.files.Dirty(path))
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
