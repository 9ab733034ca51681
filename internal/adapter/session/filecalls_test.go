//go:build linux

package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/testing/testeditor"
	"droid-acp/internal/workspace/trust"
)

// A private text goes with the turn, however that ends.
func TestPrivateTextEndsWithTheCall(t *testing.T) {
	for name, end := range map[string]func(r *filesRoom){
		"cancel": func(r *filesRoom) { r.cancel() },
		"crash":  func(r *filesRoom) { r.droid().client.Kill() },
		"close":  func(r *filesRoom) { r.request("session/close", fmt.Sprintf(`{"sessionId":%q}`, r.session)) },
		"leave":  func(r *filesRoom) { r.close() },
	} {
		t.Run(name, func(t *testing.T) {
			bothDroids(t, func(t *testing.T, v fakedroid.Version) {
				r := room(t, v)
				path := r.opened("a.txt", "one\n", "unsaved ")
				tool := readOf(path)
				tool.Do = func(fakedroid.Fields) error { return nil }
				tool.Progress = []string{"…"}
				r.does(tool)
				r.extra = append(r.extra, fakedroid.WithPace(time.Second)) // for the next process
				shadows := r.shadows()
				r.session = r.newSession()
				id := r.prompt("go")
				for len(shadows()) == 0 {
					time.Sleep(10 * time.Millisecond)
				}
				require.True(t, isShadow(shadows()[0]))
				end(r)
				if name != "leave" {
					r.await(id)
				}
				require.Len(t, shadows(), 1)
				require.False(t, isShadow(shadows()[0]))
			})
		})
	}
}

// An edit reaches the editor as the agent's, with the user's unsaved changes in the old text, whether the user is asked about it or not.
// While they are asked, others may edit the file.
func TestEditOfAnOpenFile(t *testing.T) {
	for _, typed := range []string{"", "unsaved "} {
		for _, asked := range []bool{true, false} {
			t.Run(fmt.Sprintf("%q asked %t", typed, asked), func(t *testing.T) {
				bothDroids(t, func(t *testing.T, v fakedroid.Version) {
					r := room(t, v)
					path := r.opened("a.txt", "one\ntwo\n", typed)
					if !asked {
						r.mode("auto-low")
					}
					r.ask = func(p permission) string { r.free(path); return allowOnce(p) }
					r.does(readOf(path), editOf(path, "two", "three"))
					require.Equal(t, "end_turn", r.run("go"))
					require.Equal(t, asked, r.wasAsked())
					r.holds(path, typed+"one\nthree\n")
					r.reviewed(path, typed+"one\ntwo\n")
					require.Equal(t, []string{typed + "one\ntwo\n", typed + "one\nthree\n"}, r.lastDiff())
					require.Empty(t, r.toldTheModel())
					saved := "notice: Your unsaved changes in `" + path + "` were saved, since droid is to edit that file."
					require.Equal(t, typed != "", slices.Contains(r.updates(), saved), r.updates())
					require.NoError(t, r.files.Reject(path))
					r.holds(path, typed+"one\ntwo\n")
				})
			})
		}
	}
}

// TestEditThatTheEditorMisses: if the journal cannot be written (a full ~/.local), a notice says that the edit is on the disk alone.
func TestEditThatTheEditorMisses(t *testing.T) {
	bothDroids(t, func(t *testing.T, v fakedroid.Version) {
		r := room(t, v)
		path := r.opened("a.txt", "one\ntwo\n", "")
		require.NoError(t, os.WriteFile(r.journal, nil, 0o600)) // nothing can be made in it
		r.does(editOf(path, "two", "three"))
		require.Equal(t, "end_turn", r.run("go"))
		require.NoError(t, os.Remove(r.journal))
		require.Equal(t, "one\nthree\n", r.disk(path))
		told := slices.IndexFunc(r.updates(), func(u string) bool {
			return strings.HasPrefix(u, "notice: droid's edit of "+path+" is on the disk, and could not pass through your editor: mkdir "+r.journal+": not a directory.")
		})
		require.GreaterOrEqual(t, told, 0, r.updates())
	})
}

// TestLateConflictIsTold: an edit was dropped for what the user had typed, because the editor saved that late. The user is notified with
// droid's next call that concerns files.
func TestLateConflictIsTold(t *testing.T) {
	bothDroids(t, func(t *testing.T, v fakedroid.Version) {
		var slow atomic.Bool
		r := room(t, v, func(r *filesRoom) {
			r.o.Slow = func(method, _ string) time.Duration {
				if method == testeditor.WriteMethod && slow.CompareAndSwap(false, true) {
					return 6 * time.Second
				}
				return 0
			}
		})
		path := r.opened("a.txt", "one\ntwo\n", "typed ")
		r.mode("auto-low")
		r.does(editOf(path, "one", "three"))
		require.Equal(t, "end_turn", r.run("go"))
		time.Sleep(10 * time.Second)
		r.holds(path, "typed one\ntwo\n")
		r.does(readOf(path))
		require.Equal(t, "end_turn", r.run("go"))
		require.Contains(t, r.updates(), "notice: While an edit of droid's was on its way to "+path+", the same lines were changed and saved. "+
			"That stays, and the edit may be missing: look at the file, and ask droid to make it again.")
	})
}

// A rejected edit changes no text. The user's unsaved changes are saved anyway, since they were asked about an edit of that text.
func TestRefusedEditOfUnsavedText(t *testing.T) {
	bothDroids(t, func(t *testing.T, v fakedroid.Version) {
		r := room(t, v)
		path := r.opened("a.txt", "one\ntwo\n", "unsaved ")
		r.ask = rejectOnce
		r.does(editOf(path, "two", "three"))
		require.Equal(t, "end_turn", r.run("go"))
		require.True(t, r.wasAsked())
		r.holds(path, "unsaved one\ntwo\n")
		_, _, listed := r.files.Review(path)
		require.False(t, listed)
		r.free(path)
	})
}

// A cancel ends the turn at once and leaves the file as it is: while the user is asked, right after they have allowed the edit, when the
// editor is slow to return what they have typed, and at every other step that is slow.
func TestCancelOfAnEdit(t *testing.T) {
	for name, tc := range map[string]struct {
		slowAt string
		mode   string
		asks   bool
		slow   time.Duration // from the edit on, or from the user's yes
		disk   string
	}{
		"asked":             {"", "normal", true, 0, "unsaved one\ntwo\n"},
		"allowed":           {"", "normal", true, 2 * time.Second, "unsaved one\ntwo\n"},
		"slow read":         {testeditor.ReadMethod, "auto-low", false, time.Hour, "one\ntwo\n"},
		"slow write":        {testeditor.WriteMethod, "auto-low", false, time.Hour, "one\ntwo\n"},
		"slow before asked": {testeditor.ReadMethod, "normal", false, time.Hour, "one\ntwo\n"},
	} {
		t.Run(name, func(t *testing.T) {
			bothDroids(t, func(t *testing.T, v fakedroid.Version) {
				var slow atomic.Int64
				r := room(t, v, slowAt(tc.slowAt, &slow))
				path := r.opened("a.txt", "one\ntwo\n", "unsaved ")
				r.ask = nil
				if tc.asks && tc.slow > 0 {
					r.ask = func(p permission) string { slow.Store(int64(tc.slow)); return allowOnce(p) }
				} else if !tc.asks {
					r.mode(tc.mode)
					slow.Store(int64(tc.slow))
				}
				r.does(editOf(path, "two", "three"))
				id := r.prompt("go")
				if tc.asks {
					r.untilAsked()
				}
				time.Sleep(500 * time.Millisecond)
				require.Contains(t, strings.Join(r.requests(), ","), strings.TrimSuffix(strings.TrimPrefix(tc.slowAt, "fs/"), "_text_file"))
				began := time.Now()
				r.cancel()
				require.Equal(t, "cancelled", ended(r.await(id)))
				require.Less(t, time.Since(began), time.Second)
				slow.Store(0)
				time.Sleep(time.Minute)
				require.Equal(t, tc.disk, r.disk(path))
				require.Equal(t, "unsaved one\ntwo\n", r.buffer(path))
				r.free(path)
			})
		})
	}
}

// The look at the project before an answer that holds for good comes behind what waits for the editor (not in 0.99, where that is behind the
// answer): droid reads the project with that.
func TestProjectChangesWhileAnAnswerIsPrepared(t *testing.T) {
	t.Setenv("FACTORY_HOME_OVERRIDE", filepath.Join(t.TempDir(), "nobody"))
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Int64
		r := room(t, fakedroid.V0225, slowAt(testeditor.ReadMethod, &slow))
		path := r.opened("a.txt", "one\ntwo\n", "unsaved ")
		r.agent.Config.Trust = trust.New(trust.Options{Home: r.base, File: filepath.Join(r.base, "trust.json")})
		r.ask = func(p permission) string { slow.Store(int64(2 * time.Second)); return p.Option("allow_always") }
		r.does(editOf(path, "two", "three"))
		id := r.prompt("go")
		r.untilAsked()
		time.Sleep(time.Second)
		require.NoError(t, os.MkdirAll(r.path(".factory"), 0o755))
		require.NoError(t, os.WriteFile(r.path(".factory/mcp.json"), []byte(someServer), 0o600))
		require.Contains(t, ended(r.await(id)), "the project now brings 1 MCP server, which nobody has allowed")
		require.NotContains(t, r.disk(path), "three")
		slow.Store(0)
	})
}

// A request to the editor is part of the session's state until it is answered or abandoned: for files as well as for permissions.
func TestStatusTellsWhatTheEditorWasAsked(t *testing.T) {
	bothDroids(t, func(t *testing.T, v fakedroid.Version) {
		var slow atomic.Int64
		slow.Store(int64(time.Hour))
		r := room(t, v, slowAt(testeditor.ReadMethod, &slow))
		path := r.opened("a.txt", "one\n", "")
		r.ask = nil
		r.does(readOf(path), editOf(path, "one", "two"))
		id := r.prompt("go")
		waits := func() (all []string) {
			r.inside(func(s *session.Session) { all = s.State().Waits })
			return all
		}
		time.Sleep(time.Second)
		require.Contains(t, waits(), "the session waits for the editor's answer to fs/read_text_file since 1s")
		r.untilAsked()
		all := strings.Join(waits(), "\n")
		require.Contains(t, all, "the session waits for the editor's answer to session/request_permission since 0s")
		require.NotContains(t, all, "fs/")
		r.cancel()
		require.Equal(t, "cancelled", ended(r.await(id)))
		require.Empty(t, waits())
	})
}

// An edit that droid itself finds impossible leaves the file as it is, and free.
func TestEditThatFails(t *testing.T) {
	bothDroids(t, func(t *testing.T, v fakedroid.Version) {
		r := room(t, v)
		path := r.opened("a.txt", "one\ntwo\n", "")
		free := false
		r.turn = func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			if err := d.Use("", "", editOf(path, "seven", "three")); err != nil {
				return err
			}
			if err := d.Pause(time.Second); err != nil {
				return err
			}
			r.free(path) // while the turn goes on
			free = true
			return d.Say("", "Sorry.")
		}
		require.Equal(t, "end_turn", r.run("go"))
		require.True(t, free)
		r.holds(path, "one\ntwo\n")
		require.NotContains(t, r.requests(), "write a.txt")
	})
}

// Two edits of one file in one message, and the same edit twice.
func TestTwoEditsInOneMessage(t *testing.T) {
	for name, second := range map[string]string{"another": "one", "same": "two"} {
		t.Run(name, func(t *testing.T) {
			bothDroids(t, func(t *testing.T, v fakedroid.Version) {
				r := room(t, v)
				path := r.opened("a.txt", "one\ntwo two\n", "unsaved ")
				r.doesAtOnce(editOf(path, "two", "3"), editOf(path, second, "3"))
				began := time.Now()
				require.Equal(t, "end_turn", r.run("go"))
				require.Less(t, time.Since(began), 2*time.Second)
				want := map[string]string{"another": "unsaved 3\n3 two\n", "same": "unsaved one\n3 3\n"}[name]
				r.holds(path, want)
				r.reviewed(path, "unsaved one\ntwo two\n")
				var hooks []string
				for range 2 {
					hooks = append(hooks, "PreToolUse Edit", "PostToolUse Edit")
				}
				require.Equal(t, hooks, r.pipe.requests())
			})
		})
	}
}
