//go:build linux

package session_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// linked are a project and a home, each a directory with files.
func linked(t *testing.T) (project, home string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	project, home = filepath.Join(base, "project"), filepath.Join(base, "home")
	require.NoError(t, os.MkdirAll(filepath.Join(project, "docs"), 0o755))
	require.NoError(t, os.Mkdir(home, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".bashrc"), []byte("one\n"), 0o600))
	return project, home
}

// editing is an editor in the project whose droid edits a file there for a prompt that begins with "tool". saw collects the model's input.
func editing(t *testing.T, project string, v fakedroid.Option, tools ...fakedroid.Tool) (e *editor, saw *[]string) {
	t.Helper()
	saw = new([]string)
	e = connect(t, playing(toolOrAnswer(saw, tools...), v))
	e.beginSessionIn(project)
	return e, saw
}

// The project brings a link to a file of the home: that one is named by the request.
func TestRequestForALinkNamesTheRealFile(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		project, home := linked(t)
		path, real := filepath.Join(project, "docs", "notes.md"), filepath.Join(home, ".bashrc")
		require.NoError(t, os.Symlink(real, path))
		require.NoError(t, os.Symlink(home, filepath.Join(project, "build")))
		e, saw := editing(t, project, v, editOf(path, "one", "two"))
		var asked protocol.ToolCall
		e.ask = func(p permission) string { asked = p.ToolCall; return "proceed_once" }
		require.Equal(t, "end_turn", e.run("tool"))
		require.EqualValues(t, "Edit "+real+" (linked from docs/notes.md)", asked.Title)
		require.Equal(t, []protocol.Location{{Path: real, Line: 1}}, asked.Locations)
		require.Equal(t, []string{"tool"}, *saw, "it was allowed")
		require.Contains(t, fmt.Sprint(*asked.Content[0].Content.Text), "leads through a symbolic link to `"+real+"`, outside the session's directories.")
	})
}

// A path that leads elsewhere by the time of the answer is rejected, whatever the user's answer, and user and model learn why.
func TestLinkThatChangesBeforeTheAnswer(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		project, home := linked(t)
		path, real := filepath.Join(project, "docs", "notes.md"), filepath.Join(home, ".bashrc")
		require.NoError(t, os.WriteFile(path, []byte("one\n"), 0o600))
		e, saw := editing(t, project, v, editOf(path, "one", "two"))
		var asked protocol.ToolCall
		e.ask = func(p permission) string {
			asked = p.ToolCall
			if err := errors.Join(os.Remove(path), os.Symlink(real, path)); err != nil {
				t.Error(err)
			}
			return "proceed_once"
		}
		require.Equal(t, "end_turn", e.run("tool"))
		require.EqualValues(t, "Edit docs/notes.md", asked.Title)
		why := "`" + path + "` led to `" + path + "` when the permission was asked for, and leads to `" + real + "` now, so this was refused."
		require.Len(t, *saw, 3)
		require.Equal(t, []string{"tool", "refused"}, (*saw)[:2])
		require.Contains(t, (*saw)[2], why)
		said := strings.Join(e.updates(), "\n")
		require.Equal(t, 1, strings.Count(strings.ReplaceAll(said, "Answer to `", ""), why), said)
		require.NotContains(t, said, "user:")
	})
}

// TestPanicOfACancel checks that the next prompt does not wait for an interrupt that panicked: over an event that waited for a file.
func TestPanicOfACancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		project, _ := linked(t)
		tool := editOf(filepath.Join(project, "docs", "notes.md"), "one", "two")
		e := connect(t, playing(toolOrAnswer(new([]string), tool), fakedroid.WithSessions(new(fakedroid.Sessions))))
		e.beginSessionIn(project)
		hang := make(chan struct{})
		resolve := e.agent.Texts.ResolveBy(func(path string) (string, error) { <-hang; return path, nil })
		e.ask = nil
		running := e.prompt("tool")
		synctest.Wait()
		e.posts(func(s *session.Session) {
			defer s.PanicsShowing()()
			s.Prompts().Cancel(time.Now())
		})
		close(hang)
		synctest.Wait()
		e.agent.Texts.ResolveBy(resolve)
		e.await(running)
		require.Equal(t, "end_turn", e.run("next"))
	})
}

// A path that cannot be resolved in time is said to be unknown. If it can be by the time of the answer, the answer was to another question.
func TestPathThatCannotBeResolved(t *testing.T) {
	for name, recovers := range map[string]bool{"it stays so": false, "it answers again": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				project, _ := linked(t)
				path := filepath.Join(project, "docs", "notes.md")
				require.NoError(t, os.WriteFile(path, []byte("one\n"), 0o600))
				e, saw := editing(t, project, fakedroid.WithVersion(fakedroid.V0225), editOf(path, "one", "two"))
				hang := make(chan struct{})
				var resolve func(string) (string, error)
				resolve = e.agent.Texts.ResolveBy(func(path string) (string, error) {
					<-hang
					return resolve(path)
				})
				var asked protocol.ToolCall
				e.ask = func(p permission) string {
					asked = p.ToolCall
					if recovers {
						close(hang)
						time.Sleep(time.Second)
					}
					return "proceed_once"
				}
				began := time.Now()
				require.Equal(t, "end_turn", e.run("tool"))
				require.Less(t, time.Since(began), 5*time.Second)
				require.EqualValues(t, "Edit docs/notes.md (where it leads could not be checked)", asked.Title)
				require.Equal(t, recovers, len(*saw) > 1, *saw)
				if !recovers {
					close(hang)
				}
			})
		})
	}
}

// droid gets no yes if the look behind the user's yes panics.
func TestPanicBehindAYes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		project, _ := linked(t)
		path := filepath.Join(project, "docs", "notes.md")
		require.NoError(t, os.WriteFile(path, []byte("one\n"), 0o600))
		var answered atomic.Bool
		var got []string
		e := connect(t, func(int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) { got = append(got, string(line)) }, toolOrAnswer(new([]string), editOf(path, "one", "two")), fakedroid.WithVersion(fakedroid.V0225)), nil
		})
		e.beginSessionIn(project)
		var resolve func(string) (string, error)
		resolve = e.agent.Texts.ResolveBy(func(path string) (string, error) {
			if answered.Load() {
				panic("test")
			}
			return resolve(path)
		})
		e.ask = func(permission) string { answered.Store(true); return "proceed_once" }
		require.Contains(t, e.run("tool"), "droid-acp failed: test")
		require.NotContains(t, strings.Join(got, ""), "proceed_once")
	})
}

// A cancel that comes while the paths of an allowed request are resolved again ends the turn, and nothing follows the response.
func TestCancelBehindAYes(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		project, _ := linked(t)
		one, two := filepath.Join(project, "docs", "one.md"), filepath.Join(project, "docs", "two.md")
		require.NoError(t, os.WriteFile(one, []byte("one\n"), 0o600))
		require.NoError(t, os.WriteFile(two, []byte("one\n"), 0o600))
		e, _ := editing(t, project, v, editOf(one, "one", "two"), editOf(two, "one", "two"))
		var answered, cancelled atomic.Bool
		var resolve func(string) (string, error)
		resolve = e.agent.Texts.ResolveBy(func(path string) (string, error) {
			if answered.Load() && cancelled.CompareAndSwap(false, true) {
				e.cancel()
				time.Sleep(400 * time.Millisecond)
			}
			return resolve(path)
		})
		e.ask = func(permission) string { answered.Store(true); return "proceed_once" }
		require.Equal(t, "cancelled", e.run("tool"))
		require.True(t, cancelled.Load())
		before := e.updates()
		time.Sleep(3 * time.Second)
		require.Equal(t, before, e.updates())
	})
}
