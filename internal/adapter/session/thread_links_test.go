package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/testing/fakedroid"
)

// agentOn connects another agent to the sessions of a fleet, and to a store whose directory is root.
func agentOn(t *testing.T, f *fleet, root string) *editor {
	t.Helper()
	e := open(t, f.start)
	e.agent.Config.Store = store.New(root, zap.NewNop())
	require.Nil(t, e.call("initialize", `{"protocolVersion":1,`+asZed+`}`).Error)
	return e
}

// threadIDs are the ids of the thread that a session belongs to.
func (e *editor) threadIDs(id string) []string {
	e.t.Helper()
	ids, err := e.agent.Config.Store.Thread(id)
	require.NoError(e.t, err)
	return ids
}

// unreadable makes a file that cannot be read: a symbolic link to itself.
func unreadable(t *testing.T, path string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a right there")
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.Symlink(filepath.Base(path), path))
}

// file writes droid's file of a session.
func file(t *testing.T, root, id, title string) {
	t.Helper()
	dir := filepath.Join(root, "-workspace")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	lines := fmt.Sprintf(`{"type":"session_start","id":%q,"title":%q,"isSessionTitleManuallySet":%t,"cwd":"/workspace"}`, id, title, title != "") + "\n" +
		`{"type":"message","id":"m","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}` + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(lines), 0o644))
}

// movedTwice is a thread that was compacted and rewound in an agent which is gone.
func movedTwice(t *testing.T, f *fleet, root string) (ids []string) {
	t.Helper()
	e := agentOn(t, f, root)
	e.beginSession()
	ids = []string{e.session}
	require.Equal(t, "end_turn", e.run("one"))
	for _, command := range []string{"/compact", "/rewind 1"} {
		require.Equal(t, "end_turn", e.run(command))
		ids = append(ids, f.made())
		require.Equal(t, "end_turn", e.run("after "+command[1:4]))
	}
	e.close()
	return ids
}

// listedIDs are the ids of session/list.
func listedIDs(e *editor) (ids []string) {
	e.t.Helper()
	var result struct {
		Sessions []struct{ SessionID, Title string }
	}
	answer := e.call("session/list", `{}`)
	require.Nil(e.t, answer.Error)
	require.NoError(e.t, json.Unmarshal(answer.Result, &result))
	for _, s := range result.Sessions {
		ids = append(ids, s.SessionID)
	}
	return ids
}

// TestFollowUpOverRestarts: a second prompt is handled as the user had set it for the thread, also in a new agent and after a compaction. A
// new thread begins with the default.
func TestFollowUpOverRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
		e := agentOn(t, f, root)
		e.beginSession()
		require.Equal(t, "end_turn", e.run("one"))
		require.Nil(t, e.set("follow_up", "queue").Error)
		require.Nil(t, e.set("follow_up", "steer").Error)
		require.Equal(t, "end_turn", e.run("/compact"))
		id, newest := e.session, f.made()
		e.close()
		file(t, root, id, "")
		file(t, root, newest, "")
		for _, want := range []string{"steer", "queue"} {
			e = agentOn(t, f, root)
			answer := e.call("session/load", sessionParamsOf(id))
			require.Nil(t, answer.Error)
			require.Equal(t, want, optionsOf(t, answer.Result)["follow_up"].CurrentValue)
			e.session = id
			e.inside(func(s *session.Session) { require.Equal(t, want == "steer", s.OptionState().Steers()) })
			require.Equal(t, "queue", optionsOf(t, e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`).Result)["follow_up"].CurrentValue)
			require.Nil(t, e.set("follow_up", "queue").Error)
			e.close()
		}
	})
}

// TestForksOfAThread: a fork by any ID copies the newest conversation and is another thread, whether the thread is open or not.
func TestForksOfAThread(t *testing.T) {
	for _, isOpen := range []bool{false, true} {
		t.Run(fmt.Sprint(isOpen), func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				f, root := newFleet(t, v, repeats()), filepath.Join(t.TempDir(), "sessions")
				ids := movedTwice(t, f, root)
				e := agentOn(t, f, root)
				require.NoError(t, e.agent.Config.Store.Link(store.Link{From: ids[0], To: ids[0], Kind: store.LinkOptions, FollowUp: options.Steer}))
				if isOpen {
					require.Nil(t, e.call("session/resume", sessionParamsOf(ids[1])).Error)
				}
				answer := e.call("session/fork", sessionParamsOf(ids[0]))
				forked := e.sessionOf(answer)
				require.Equal(t, options.Steer, optionsOf(t, answer.Result)["follow_up"].CurrentValue)
				require.Equal(t, []string{forked}, e.threadIDs(forked))
				require.Equal(t, ids, e.threadIDs(ids[0]))
				require.Equal(t, options.Steer, e.agent.Config.Store.FollowUp([]string{forked}), "kept for a load")
				require.Nil(t, e.call("session/load", sessionParamsOf(forked)).Error)
				require.Equal(t, []string{"user: after rew", "agent: re: after rew"}, e.of(forked)[:2])
			})
		})
	}
}

// TestForkOfAnEarlierConversation: /fork makes another thread of what the thread contained before.
func TestForkOfAnEarlierConversation(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		f, root := newFleet(t, v, repeats()), filepath.Join(t.TempDir(), "sessions")
		ids := movedTwice(t, f, root)
		for _, id := range ids {
			file(t, root, id, "Title of "+id)
		}
		e := agentOn(t, f, root)
		require.Nil(t, e.call("session/resume", sessionParamsOf(ids[0])).Error)
		e.session = ids[0]
		said := func(command string) string {
			seen := len(e.updates())
			require.Equal(t, "end_turn", e.run(command))
			return strings.Join(e.updates()[seen:], "\n")
		}
		list := said("/sessions")
		require.Contains(t, list, "`/fork ID`")
		require.Contains(t, list, "Title of "+ids[1])
		require.Equal(t, 1, strings.Count(list, "(this thread)"))
		require.Nil(t, e.set("follow_up", options.Steer).Error)
		for command, want := range map[string]string{"/fork " + ids[0]: "re: one", "/fork before": "re: after com", "/fork": "re: after rew"} {
			text := said(command)
			_, rest, ok := strings.Cut(text, "The copy is the session `")
			require.True(t, ok, text)
			copied, _, _ := strings.Cut(rest, "`")
			require.Nil(t, e.call("session/load", sessionParamsOf(copied)).Error)
			require.Contains(t, strings.Join(e.of(copied), "\n"), want)
			require.Equal(t, command == "/fork", slices.Contains(e.of(copied), "agent: re: after rew"))
			require.Equal(t, options.Steer, e.agent.Config.Store.FollowUp([]string{copied}), command)
			require.Nil(t, e.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, copied)).Error)
		}
		e.inside(func(s *session.Session) { require.Equal(t, ids[2], s.State().DroidSessionID) })
		require.Contains(t, said("/fork "+ids[2]), "`/fork` alone copies it")
		require.Contains(t, said("/fork ../../x"), "is not one of this thread's earlier conversations")
		require.Equal(t, 1, f.alive())
	})
}

// A session that droid made but in which the thread does not continue has no effect after a restart.
func TestThreadThatStays(t *testing.T) {
	for name, spoil := range map[string]func(f *fleet, e *editor){
		"not loaded": func(f *fleet, e *editor) {
			f.options = append(f.options, fakedroid.WithAnswer("droid.load_session", func(map[string]any) (any, string) { return nil, "no" }))
			require.Equal(e.t, "end_turn", e.run("/compact"))
			require.Contains(e.t, strings.Join(e.updates(), "\n"), "did not load it")
		},
		"cancelled": func(f *fleet, e *editor) {
			release := make(chan struct{})
			f.options = append(f.options, fakedroid.WithAnswer("droid.compact_session", func(map[string]any) (any, string) {
				<-release
				return fakedroid.Fields{"newSessionId": f.store.Add("/workspace")}, ""
			}))
			e.inside(func(s *session.Session) { s.Process().Client().Kill() }) // the next one answers so
			synctest.Wait()
			id := e.prompt("/compact")
			synctest.Wait()
			e.cancel()
			require.Equal(e.t, "cancelled", ended(e.await(id)))
			close(release)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
				e := agentOn(t, f, root)
				e.beginSession()
				require.Equal(t, "end_turn", e.run("one"))
				spoil(f, e)
				synctest.Wait()
				require.Equal(t, []string{e.session}, e.threadIDs(e.session))
				loading, err := filepath.Glob(filepath.Join(filepath.Dir(root), "droid-acp-open", "*~"))
				require.NoError(t, err)
				require.Empty(t, loading)
			})
		})
	}
}

// If the link to the next session cannot be written, the thread goes on, and the user is notified of the consequences. A delete still
// removes both sessions. An option of the thread applies as long as the thread is open.
func TestUnwritableLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
		require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(root), "droid-acp-threads.jsonl"), 0o755))
		e := agentOn(t, f, root)
		e.beginSession()
		require.Equal(t, "steer", optionsOf(t, e.set("follow_up", "steer").Result)["follow_up"].CurrentValue)
		require.Equal(t, "end_turn", e.run("one"))
		require.Contains(t, e.told(), "it is not a file")
		require.Equal(t, "end_turn", e.run("/compact"))
		text := e.told()
		require.Contains(t, text, "This could not be written down")
		require.Contains(t, text, "this one is then the session `"+f.made()+"`")
		require.Equal(t, "end_turn", e.run("two"))
		e.inside(func(s *session.Session) { require.Equal(t, f.made(), s.State().DroidSessionID) })
		file(t, root, e.session, "A")
		file(t, root, f.made(), "B")
		require.Nil(t, e.call("session/delete", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error)
		require.Empty(t, listedIDs(e))
	})
}

// If the link to a thread's next session cannot be read, nothing is opened or deleted in place of that session, and the error names the
// file.
func TestUnreadableLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
		id := f.store.Add("/workspace")
		file(t, root, id, "A")
		e := agentOn(t, f, root)
		links := filepath.Join(filepath.Dir(root), store.LinksName)
		unreadable(t, links)
		for _, method := range []string{"session/load", "session/resume", "session/fork", "session/delete"} {
			answer := e.call(method, sessionParamsOf(id))
			require.NotNil(t, answer.Error, method)
			require.Contains(t, answer.Error.Message, links)
			require.Contains(t, answer.Error.Message, "see that you may read that")
		}
		require.FileExists(t, filepath.Join(root, "-workspace", id+".jsonl"))
		require.NoError(t, os.Remove(links))
		require.Nil(t, e.call("session/delete", sessionParamsOf(id)).Error)
	})
}

// A call that waits for its permission in another agent has not failed: a load says where it waits. A call that the other agent left behind
// has failed.
func TestLoadWhilePermissionWaitsElsewhere(t *testing.T) {
	for _, stays := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "sessions")
			one, other := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), uses(touch)), newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
			first := agentOn(t, one, root)
			first.beginSession()
			first.ask = nil
			first.prompt("go")
			first.until("the question", func() bool { return strings.Contains(strings.Join(first.updates(), "\n"), "ask") })
			other.options = append(other.options, fakedroid.WithSessions(&one.store))
			second := agentOn(t, other, root)
			second.session = first.session
			time.Sleep(time.Second)
			if !stays {
				first.close()
			}
			require.Nil(t, second.call("session/load", sessionParamsOf(first.session)).Error)
			time.Sleep(session.LeavingTime)
			second.settle()
			said := strings.Join(second.updates(), "\n")
			require.Contains(t, said, "tool_call t1 pending", said)
			require.Equal(t, !stays, strings.Contains(said, "tool_call_update t1 failed"), said)
			require.Equal(t, stays, strings.Contains(said, "or waits for an answer in the other window"), said)
			second.close()
		})
	}
}

// A load that is cancelled during the check whether another window has the session open leaves the session to the next prompt.
func TestLoadIsCancelledWhileOthersAreSought(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "sessions")
		one, other := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), uses(touch)), newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		first := agentOn(t, one, root)
		first.beginSession()
		first.ask = nil
		first.prompt("go")
		first.until("the question", func() bool { return strings.Contains(strings.Join(first.updates(), "\n"), "ask") })
		other.options = append(other.options, fakedroid.WithSessions(&one.store))
		second := agentOn(t, other, root)
		second.session = first.session
		load, behind := second.request("session/load", sessionParamsOf(first.session)), second.prompt("hello")
		time.Sleep(session.LeavingTime / 2)
		second.notify("$/cancel_request", `{"requestId":`+load+`}`)
		require.Equal(t, -32800, second.await(load).Error.Code)
		require.Equal(t, "end_turn", ended(second.await(behind)))
		require.NotEmpty(t, second.lastMode(), "the editor is told as of any session")
		second.close()
	})
}

// A session that another agent's droid loads is not deleted: the files would move away under that droid. Where the load
// fails, or the session is closed, it can be deleted.
func TestDeleteWhileAnotherAgentLoads(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "sessions")
			slow := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
			answer := fakedroid.WithAnswer("droid.load_session", func(map[string]any) (any, string) {
				return fakedroid.Later{After: 2 * time.Second, Then: func(map[string]any) (any, string) {
					if fails {
						return nil, "no"
					}
					return nil, ""
				}}, ""
			})
			slow.options = append(slow.options, answer)
			id := slow.store.Add("/workspace")
			file(t, root, id, "A")
			one, other := agentOn(t, slow, root), agentOn(t, newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), root)
			load := one.request("session/load", sessionParamsOf(id))
			time.Sleep(time.Second)
			deletes := func() string {
				if refused := other.call("session/delete", sessionParamsOf(id)).Error; refused != nil {
					return refused.Message
				}
				return ""
			}
			require.Contains(t, deletes(), "it is open in another window or program of yours; close it there first")
			require.FileExists(t, filepath.Join(root, "-workspace", id+".jsonl"))
			require.Equal(t, fails, one.await(load).Error != nil)
			if !fails {
				require.Contains(t, deletes(), "it is open in another window")
				require.Nil(t, one.call("session/close", sessionParamsOf(id)).Error)
			}
			time.Sleep(time.Minute) // droid leaves
			require.Empty(t, deletes())
			require.NoFileExists(t, filepath.Join(root, "-workspace", id+".jsonl"))
		})
	}
}

// An agent that has a session open deletes it while another one, which has loaded it, still looks whether the first one
// leaves: the other one keeps it, and so does the first one.
func TestDeleteWhileAnotherAgentLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "sessions")
		one, other := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		other.options = append(other.options, fakedroid.WithSessions(&one.store))
		first, second := agentOn(t, one, root), agentOn(t, other, root)
		first.beginSession()
		require.Equal(t, "end_turn", first.run("one"))
		file(t, root, first.session, "A")
		second.session = first.session
		require.Nil(t, second.call("session/load", sessionParamsOf(first.session)).Error)
		time.Sleep(session.LeavingTime / 2)
		answer := first.call("session/delete", sessionParamsOf(first.session))
		require.NotNil(t, answer.Error, "the other agent has it open")
		require.Contains(t, answer.Error.Message, "it is open in another window or program of yours; close it there first")
		require.FileExists(t, filepath.Join(root, "-workspace", first.session+".jsonl"))
		require.Equal(t, "end_turn", first.run("three"), "nothing has ended")
		require.Nil(t, first.call("session/close", sessionParamsOf(first.session)).Error)
		time.Sleep(time.Hour)
		require.Equal(t, "end_turn", second.run("two"))
		require.Nil(t, second.call("session/delete", sessionParamsOf(first.session)).Error)
		require.NoFileExists(t, filepath.Join(root, "-workspace", first.session+".jsonl"))
	})
}

// If a session could not be marked as open, the next prompt marks it. The user is notified once of another window.
func TestMarkIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
		e := agentOn(t, f, root)
		marks := filepath.Join(filepath.Dir(root), "droid-acp-open")
		require.NoError(t, os.MkdirAll(filepath.Dir(marks), 0o700))
		require.NoError(t, os.WriteFile(marks, nil, 0o600)) // no directory
		id := f.store.Add("/workspace")
		file(t, root, id, "A")
		e.session = id
		require.Nil(t, e.call("session/load", sessionParamsOf(id)).Error)
		e.settle()
		require.NoError(t, os.Remove(marks))
		require.Equal(t, "end_turn", e.run("one"))
		e.settle()
		held, err := store.New(root, zap.NewNop()).IsOpen(id)
		require.NoError(t, err)
		require.True(t, held)
		require.NotContains(t, strings.Join(e.updates(), "\n"), "another window")
	})
}

// An agent that is still exiting when its editor reopens does not count as another window.
func TestOpenedAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "sessions")
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		id := f.store.Add("/workspace")
		leaves, err := store.New(root, zap.NewNop()).MarkOpen(id)
		require.NoError(t, err)
		time.Sleep(time.Second)
		e := agentOn(t, f, root)
		e.session = id
		require.Nil(t, e.call("session/load", sessionParamsOf(id)).Error)
		e.settle()
		leaves()
		time.Sleep(time.Hour)
		require.Equal(t, "end_turn", e.run("one"))
		require.NotContains(t, strings.Join(e.updates(), "\n"), "another window")
	})
}

// Whoever loads a session that another agent has open, and keeps open, reads so once.
func TestLoadOfASessionThatAnotherAgentHasOpen(t *testing.T) {
	for _, client := range []string{"zed", "CodeCompanion.nvim"} {
		synctest.Test(t, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "sessions")
			f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeatsLater())
			e := open(t, f.start)
			e.agent.Config.Store = store.New(root, zap.NewNop())
			require.Nil(t, e.call("initialize", fmt.Sprintf(`{"protocolVersion":1,"clientInfo":{"name":%q,"version":"1"}}`, client)).Error)
			e.session = f.store.Add("/workspace")
			release, err := store.New(root, zap.NewNop()).MarkOpen(e.session)
			require.NoError(t, err)
			defer release()
			require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
			time.Sleep(time.Minute)
			for _, prompt := range []string{"one", "two"} {
				require.Equal(t, "end_turn", e.run(prompt))
				require.Equal(t, 1, strings.Count(strings.Join(e.updates(), "\n"), "This conversation is open in another window"), client+" "+prompt)
			}
			e.close()
		})
	}
}

// If another agent opens a session that is open here, the next prompt says so, once.
func TestOpenedInAnotherAgentIsToldWithTheNextPrompt(t *testing.T) {
	for _, client := range []string{"zed", "CodeCompanion.nvim"} {
		synctest.Test(t, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "sessions")
			f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeatsLater())
			e := open(t, f.start)
			e.agent.Config.Store = store.New(root, zap.NewNop())
			require.Nil(t, e.call("initialize", fmt.Sprintf(`{"protocolVersion":1,"clientInfo":{"name":%q,"version":"1"}}`, client)).Error)
			e.beginSession()
			times := func() int {
				return strings.Count(strings.Join(e.updates(), "\n"), "This conversation was opened in another window")
			}
			require.Equal(t, "end_turn", e.run("one"))
			require.Zero(t, times(), "its own note")
			time.Sleep(time.Second)
			release, err := store.New(root, zap.NewNop()).MarkOpen(e.session)
			require.NoError(t, err)
			defer release()
			require.Equal(t, "end_turn", e.run("two"))
			require.Equal(t, 1, times(), client)
			require.Equal(t, "end_turn", e.run("three"))
			require.Equal(t, 1, times(), client)
			e.close()
		})
	}
}

// Loading an open thread again shows what another agent has done with it since.
func TestLoadAfterAnotherAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "sessions")
		one, other := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		other.options = append(other.options, fakedroid.WithSessions(&one.store))
		first, second := agentOn(t, one, root), agentOn(t, other, root)
		first.beginSession()
		require.Equal(t, "end_turn", first.run("one"))
		second.session = first.session
		require.Nil(t, second.call("session/load", sessionParamsOf(first.session)).Error)
		require.Equal(t, "end_turn", first.run("/compact"))
		require.Equal(t, "end_turn", first.run("two"))
		second.inside(func(s *session.Session) { require.Equal(t, first.session, s.State().DroidSessionID) })
		require.Nil(t, second.call("session/load", sessionParamsOf(first.session)).Error)
		second.inside(func(s *session.Session) { require.Equal(t, one.made(), s.State().DroidSessionID) })
		require.Contains(t, second.of(first.session), "agent: re: two")
		require.Equal(t, 1, other.alive())
		require.NotContains(t, second.updates(), "agent: "+session.MovedOn)
		require.Equal(t, "end_turn", first.run("/compact"))
		require.Nil(t, second.call("session/resume", sessionParamsOf(first.session)).Error)
		require.Equal(t, "end_turn", second.run("three"))
		require.Contains(t, strings.Join(second.updates(), "\n"), session.MovedOn, "a resume shows nothing of it")
	})
}

// A session that droid went on in by itself is the thread's after a restart.
func TestFollowedSessionIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
		e := agentOn(t, f, root)
		e.beginSession()
		to := f.store.Add("/workspace")
		e.inside(func(s *session.Session) {
			s.ApplyEvent(quirks.Other{Event: stream.SessionSwitched{From: e.session, To: to}})
			require.Equal(t, to, s.State().DroidSessionID)
			require.Equal(t, e.session, s.Updates().Session(), "the editor keeps its id")
		})
		synctest.Wait()
		require.Equal(t, []string{e.session, to}, e.threadIDs(e.session))
		require.NoError(t, e.agent.Config.Store.Link(store.Link{From: to, To: to, Kind: store.LinkStays}))
		e.inside(func(s *session.Session) { s.FollowTo(to) })
		synctest.Wait()
		require.Equal(t, []string{e.session, to}, e.threadIDs(to), "it is there already")
	})
}

// 0.99 knows no files after it has loaded a session: the conversation is still rewound, unless files are to be restored.
func TestRewindWithoutFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V099), repeats())
		f.options = append(f.options, fakedroid.WithAnswer("droid.get_rewind_info", func(map[string]any) (any, string) { return nil, "not initialized" }))
		e := begin(t, f.start)
		require.Equal(t, "end_turn", e.run("one"))
		require.Equal(t, "end_turn", e.run("/rewind 1 files"))
		require.Contains(t, strings.Join(e.updates(), "\n"), "was not rewound")
		require.Equal(t, "end_turn", e.run("/rewind 1"))
		require.Contains(t, strings.Join(e.updates(), "\n"), "back at the point before prompt 1")
	})
}

// A rewind that droid refuses says why and what to do, without a name of droid's protocol.
func TestRewindThatIsRefused(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		f := newFleet(t, v, repeats())
		f.options = append(f.options, fakedroid.WithAnswer("droid.execute_rewind", func(map[string]any) (any, string) { return nil, "ENOSPC: no space left on device, write" }))
		e := begin(t, f.start)
		require.Equal(t, "end_turn", e.run("one"))
		require.Equal(t, "end_turn", e.run("/rewind 1"))
		require.Contains(t, e.messages(), "The session was not rewound: ENOSPC: no space left on device, write. Make room on the disk, or have your quota raised.")
	})
}

// TestTitleWaitsForARewind: a droid that goes over into the session which it makes would name either one of the two, and
// not say which (0.225.2).
func TestTitleWaitsForARewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		f.later("droid.execute_rewind", time.Second)
		f.options = append(f.options, answering("rename_session", fakedroid.Fields{"success": true}))
		e := begin(t, f.start)
		require.Equal(t, "end_turn", e.run("one"))
		rewind := e.prompt("/rewind 1")
		time.Sleep(500 * time.Millisecond)
		title := e.request("session/set_title", e.inSession(`,"title":"New"`))
		time.Sleep(400 * time.Millisecond)
		asked := func() string {
			f.mu.Lock()
			defer f.mu.Unlock()
			return strings.Join(f.raw, "")
		}
		require.Contains(t, asked(), "execute_rewind")
		require.NotContains(t, asked(), "rename_session")
		require.Equal(t, "end_turn", ended(e.await(rewind)))
		require.Nil(t, e.await(title).Error)
		require.Contains(t, asked(), "rename_session")
	})
}

// A title that is set while a compaction runs, or a rewind, is the thread's afterwards, whenever that is.
func TestTitleWhileTheThreadMoves(t *testing.T) {
	for _, command := range []string{"/compact", "/rewind 1"} {
		for _, moment := range []time.Duration{time.Millisecond, 500 * time.Millisecond, 990 * time.Millisecond, 1100 * time.Millisecond, 1500 * time.Millisecond} {
			t.Run(fmt.Sprint(command[1:], moment), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
					method := map[string]string{"/compact": "droid.compact_session", "/rewind 1": "droid.execute_rewind"}[command]
					made := f.answers[method]
					f.answers[method] = func(p map[string]any) (any, string) {
						result, refused := made(p)
						file(t, root, f.made(), "")
						return result, refused
					}
					f.later(method, time.Second)
					e := agentOn(t, f, root)
					e.beginSession()
					var last any // of two renames that droid has at once it stores the later title twice (0.225.2)
					f.options = append(f.options, fakedroid.WithAnswer("droid.rename_session", func(p map[string]any) (any, string) {
						takes := 300 * time.Millisecond
						if last = p["title"]; last == "Old" {
							takes = 200 * time.Millisecond
						}
						return fakedroid.Later{After: takes, Then: func(map[string]any) (any, string) {
							f.mu.Lock()
							defer f.mu.Unlock()
							id := f.has[len(f.has)-1]
							if id == "" {
								id = e.session
							}
							file(t, root, id, last.(string))
							return fakedroid.Fields{"success": true}, ""
						}}, ""
					}))
					e.inside(func(s *session.Session) { s.ReplaceDroid() }) // the next one renames
					require.Equal(t, "end_turn", e.run("one"))
					file(t, root, e.session, "Old")
					moves := e.prompt(command)
					time.Sleep(moment)
					require.Nil(t, e.call("session/set_title", e.inSession(`,"title":"New"`)).Error)
					require.Equal(t, "end_turn", ended(e.await(moves)))
					require.Equal(t, "New", e.agent.Config.Store.Title(f.made()))
				})
			})
		}
	}
}

// A rewind that waits for a title is not under way yet: a cancel ends it, and droid is not asked.
func TestCancelledRewindThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		f.answers["droid.rename_session"] = func(map[string]any) (any, string) { return fakedroid.Fields{"success": true}, "" }
		f.later("droid.rename_session", 10*time.Second)
		f.later("droid.get_rewind_info", time.Second)
		e := begin(t, f.start)
		require.Equal(t, "end_turn", e.run("one"))
		rewind := e.prompt("/rewind 1")
		time.Sleep(500 * time.Millisecond) // it asks for the files
		title := e.request("session/set_title", e.inSession(`,"title":"New"`))
		time.Sleep(time.Second)
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(rewind)))
		require.Nil(t, e.await(title).Error)
		time.Sleep(time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		require.NotContains(t, strings.Join(f.raw, ""), "execute_rewind")
	})
}

// A session that a rewind creates while its original is being deleted is deleted, too.
func TestDeleteBesideARewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
		made := f.answers["droid.execute_rewind"]
		f.answers["droid.execute_rewind"] = func(p map[string]any) (any, string) {
			result, refused := made(p)
			file(t, root, f.made(), "")
			return result, refused
		}
		f.later("droid.execute_rewind", time.Second)
		e := agentOn(t, f, root)
		e.beginSession()
		require.Equal(t, "end_turn", e.run("one"))
		file(t, root, e.session, "")
		rewind := e.prompt("/rewind 1")
		time.Sleep(500 * time.Millisecond)
		require.Nil(t, e.call("session/delete", e.inSession("")).Error)
		e.await(rewind)
		require.NotContains(t, string(e.call("session/list", `{}`).Result), `"sessionId"`)
	})
}
