package session_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/testing/fakedroid"
)

// shared starts fakes that have their sessions in common, as processes with one HOME do.
func shared(v fakedroid.Option, script fakedroid.Script) starter {
	return playing(script, v, fakedroid.WithSessions(new(fakedroid.Sessions)))
}

func sessionParamsOf(id string) string {
	return fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[]}`, id)
}

// TestNoParkingAtWork: neither while a prompt runs nor while the user decides.
func TestNoParkingAtWork(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := open(t, shared(v, uses(touch)))
		e.agent.Config.ParkAfter = time.Minute
		require.Nil(t, e.call("initialize", `{"protocolVersion":1}`).Error)
		e.beginSession()
		e.ask = nil
		id := e.prompt("go")
		time.Sleep(time.Hour)
		require.False(t, e.parked())
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
		time.Sleep(2 * time.Minute)
		require.True(t, e.parked())
		e.ask = allowOnce
		require.Equal(t, "end_turn", e.run("more"))
		require.NotContains(t, strings.Join(e.updates(), "\n"), "started again", "nothing went wrong")
	})
}

// A session can be deleted while its mark as open is being written. The mark does not outlive the session, even if the disk is so slow that
// nothing waits for it.
func TestDeleteWhileItIsNoted(t *testing.T) {
	for _, disk := range []time.Duration{files.ReleaseTime / 2, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "sessions")
			e := open(t, playing(says("hi"), fakedroid.WithSessions(new(fakedroid.Sessions))))
			e.agent.Config.Store = store.New(root, zap.NewNop())
			require.Nil(t, e.call("initialize", `{"protocolVersion":1}`).Error)
			e.hanging.begin("Store.MarkOpen")
			e.beginSession()
			path := filepath.Join(root, "-workspace", e.session+".jsonl")
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o644))
			e.settle()
			require.True(t, e.hanging.wasReached())
			deleted := e.request("session/delete", fmt.Sprintf(`{"sessionId":%q}`, e.session))
			time.Sleep(disk)
			e.hanging.revive()
			require.Nil(t, e.await(deleted).Error)
			require.NoFileExists(t, path)
			e.settle()
			held, err := e.agent.Config.Store.IsOpen(e.session)
			require.NoError(t, err)
			require.False(t, held)
		})
	}
}

// A delete that fails, or that is cancelled before anything was moved, ends nothing: neither the running turn, nor a command in the
// background, nor the mark for other agents that the session is open.
func TestDeleteThatEndsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		hangs files.CallName // the request is cancelled during this
		want  string
	}{
		"the trash cannot be made":   {want: "The session could not be deleted: deleting session "},
		"taken back, others are met": {hangs: "Store.Free"},
		"taken back, trash is tried": {hangs: "Store.CheckDelete"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := beginLeaving(t, "{}")
				root := filepath.Join(t.TempDir(), "sessions")
				l.agent.Config.Store = store.New(root, zap.NewNop())
				file(t, root, l.session, "A")
				trash := filepath.Join(filepath.Dir(root), "droid-acp-trash")
				if c.hangs == "" {
					require.NoError(t, os.WriteFile(trash, nil, 0o600))
				}
				l.inside(func(s *session.Session) { s.LeaveStore() }) // it was held in no store
				require.Equal(t, "end_turn", l.run("hello"))          // notes in this one that it is open
				l.settle()
				turn := l.prompt("wait")
				l.settle()
				l.hanging.begin(c.hangs)
				deletes := l.request("session/delete", sessionParamsOf(l.session))
				l.settle()
				if c.hangs != "" {
					require.True(t, l.hanging.wasReached())
					l.notify("$/cancel_request", `{"requestId":`+deletes+`}`)
					l.settle()
					l.hanging.revive()
				}
				answer := l.await(deletes)
				require.NotNil(t, answer.Error)
				if c.hangs != "" {
					require.Equal(t, acperr.CodeCancelled, answer.Error.Code)
				}
				require.Contains(t, answer.Error.Message, c.want)
				l.settle()
				require.ErrorIs(t, store.New(root, zap.NewNop()).Delete(l.session), store.ErrOpenElsewhere, "others see that it is open")
				require.Equal(t, "end_turn", ended(l.await(turn)))
				require.True(t, l.Runs())
				require.NotContains(t, l.told(), "was ended")
				require.Equal(t, 1, l.starts)
				require.NoError(t, os.RemoveAll(trash))
				require.Nil(t, l.call("session/delete", sessionParamsOf(l.session)).Error)
				require.False(t, l.Runs())
			})
		})
	}
}

// TestQuirk32_HungLoadBesideAPrompt: only the load gets no answer from droid, and a prompt arrives during it. The prompt waits for the
// load, and the next process answers both.
func TestQuirk32_HungLoadBesideAPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fakedroid.WithSessions(new(fakedroid.Sessions))
		nothing := []byte(`{"jsonrpc":"2.0","factoryApiVersion":"1.0.0","type":"notification","method":"none"}`)
		e := begin(t, func(n int) (*droid.Client, error) {
			if n > 1 {
				return fakeDroid(says("I am back"), store), nil
			}
			return tappedDroid(func(line []byte) {
				if bytes.Contains(line, []byte("droid.load_session")) {
					rest := line[copy(line, nothing) : len(line)-1]
					copy(rest, bytes.Repeat([]byte(" "), len(rest)))
				}
			}, says("I was there"), store), nil
		})
		require.Equal(t, "end_turn", e.run("hello"))
		load := e.request("_droid/messages", sessionParamsOf(e.session))
		synctest.Wait()
		require.Equal(t, "end_turn", e.run("meanwhile"))
		require.Nil(t, e.await(load).Error)
		require.Contains(t, e.updates(), "agent: I am back")
	})
}

// TestQuirk32_HungLoad: a droid that hangs while it loads the session once more is
// replaced, and what wanted the history gets it.
func TestQuirk32_HungLoad(t *testing.T) {
	for name, ask := range map[string]func(e *editor) string{
		"session/load": func(e *editor) string {
			require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
			return strings.Join(e.updates(), "\n")
		},
		"/rewind": func(e *editor) string {
			require.Equal(t, "end_turn", e.run("/rewind"))
			return strings.Join(e.updates(), "\n")
		},
		"/export": func(e *editor) string {
			file := filepath.Join(t.TempDir(), "out.html")
			require.Equal(t, "end_turn", e.run("/export "+file))
			page, err := os.ReadFile(file)
			require.NoError(t, err)
			return string(page)
		},
		"messages": func(e *editor) string { return string(e.call("_droid/messages", sessionParamsOf(e.session)).Result) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := fakedroid.WithSessions(new(fakedroid.Sessions))
				wake := make(chan struct{})
				hang := fakedroid.WithAnswer("droid.load_session", func(map[string]any) (any, string) {
					<-wake
					return nil, ""
				})
				e := begin(t, func(n int) (*droid.Client, error) {
					if n == 1 {
						return fakeDroid(says("I was there"), fakedroid.WithVersion(fakedroid.V099), store, hang), nil
					}
					return fakeDroid(says("I am back"), fakedroid.WithVersion(fakedroid.V099), store), nil
				})
				require.Equal(t, "end_turn", e.run("hello there"))
				began := time.Now()
				require.Contains(t, ask(e), "hello there")
				require.Less(t, time.Since(began), session.LoadAgainTime+time.Second)
				require.Equal(t, "end_turn", e.run("go on"))
				require.Contains(t, e.updates(), "agent: I am back")
				close(wake)
			})
		})
	}
}

// TestCrashWhileSettingsAreRestored: a droid that dies when it is to take its settings back fails no prompt, as it did
// not have one; the next droid gets it, in the mode that the session had.
func TestCrashWhileSettingsAreRestored(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		for range 20 { // whether droid's end or the failed call is heard first
			crashWhileSettingsAreRestored(t, v, "auto-low", "auto-high")
			crashWhileSettingsAreRestored(t, v, "auto-high", "auto-low") // a freer one than another window's is theirs, too
		}
	})
}

func crashWhileSettingsAreRestored(t *testing.T, v fakedroid.Option, mode, elsewhere string) {
	sessions := new(fakedroid.Sessions)
	e := begin(t, func(n int) (client *droid.Client, err error) {
		client = tappedDroid(func(line []byte) {
			if n == 2 && strings.Contains(string(line), "update_session_settings") {
				client.Kill()
			}
		}, eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if p.Text == "die" {
				return d.Die(137, "")
			}
			return d.Say("", "in "+d.Mode())
		}), v, fakedroid.WithSessions(sessions))
		return client, nil
	})
	require.Nil(t, e.call("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":%q}`, e.session, mode)).Error)
	require.Contains(t, e.run("die"), "-32603 ")
	sessions.SetMode(e.session, elsewhere)
	require.Equal(t, "end_turn", e.run("hello"))
	require.Equal(t, 3, e.starts, "the second one died when it was to take the mode back")
	require.Contains(t, strings.Join(e.updates(), "\n"), "agent: in "+mode)
}

// TestCancelledLoadKeepsTheMode: droid loads although the user has taken the load back, and takes the mode of the session's file,
// which another window may have made a freer one.
func TestCancelledLoadKeepsTheMode(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		sessions := new(fakedroid.Sessions)
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error { return d.Say("", "in "+d.Mode()) }), v,
			fakedroid.WithSessions(sessions), fakedroid.WithAnswer("droid.load_session", func(map[string]any) (any, string) {
				return fakedroid.Later{After: time.Second, Then: func(map[string]any) (any, string) { return nil, "" }}, ""
			})))
		require.Nil(t, e.call("session/set_mode", e.inSession(`,"modeId":"auto-low"`)).Error)
		require.Equal(t, "end_turn", e.run("one"))
		time.Sleep(time.Minute)
		sessions.SetMode(e.session, "auto-high")
		load := e.request("session/load", sessionParamsOf(e.session))
		time.Sleep(500 * time.Millisecond)
		e.notify("$/cancel_request", `{"requestId":`+load+`}`)
		require.Equal(t, -32800, e.await(load).Error.Code)
		require.Equal(t, "end_turn", e.run("two"))
		time.Sleep(time.Minute)
		require.Equal(t, "end_turn", e.run("three"))
		require.NotContains(t, strings.Join(e.updates(), "\n"), "in auto-high")
	})
}

// TestNothingBeforeTheResponse checks, for each method that opens a session, in an untrusted project whose droid and MCP server have
// something to report, that the editor gets nothing of it before the response, except for a load's history.
func TestNothingBeforeTheResponse(t *testing.T) {
	for _, method := range []string{"session/new", "session/fork", "session/resume", "session/load"} {
		for _, client := range []string{"zed", "agent-shell"} {
			for _, open := range []bool{false, true} { // the session that is named is open
				if open && method == "session/new" {
					continue
				}
				t.Run(fmt.Sprint(method, " ", client, " ", open), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						slow := fakedroid.WithAnswer("droid.load_session", func(map[string]any) (any, string) {
							return fakedroid.Later{After: time.Second, Then: func(map[string]any) (any, string) { return nil, "" }}, ""
						})
						r := inProjectAs(t, asNamed(client), fakedroid.V0225, map[string]string{".factory/mcp.json": someServer}, slow)
						require.Nil(t, r.newSession().Error)
						require.Equal(t, "end_turn", r.run("hello"))
						if !open {
							require.Nil(t, r.call("session/close", r.inSession("")).Error)
							time.Sleep(time.Minute)
						}
						n := len(r.received())
						answer := r.call(method, fmt.Sprintf(`{"sessionId":%q,"cwd":%s,"mcpServers":[]}`, r.session, quoted(r.dir)))
						require.Nil(t, answer.Error)
						id := r.session
						if method == "session/new" || method == "session/fork" {
							id = r.sessionOf(answer)
						}
						time.Sleep(time.Minute)
						var before, after []string
						answered := false
						for _, m := range r.received()[n:] {
							switch {
							case m.Method == "" && string(m.ID) == string(answer.ID):
								answered = true
							case !strings.Contains(string(m.Params), id):
							case answered:
								after = append(after, m.Raw)
							default:
								before = append(before, m.Raw)
							}
						}
						has := func(lines []string, text string) bool { return strings.Contains(strings.Join(lines, "\n"), text) }
						if method == "session/load" {
							require.True(t, has(before, "Left out until you trust"))
							require.Empty(t, after)
							return
						}
						require.Empty(t, before)
						require.True(t, has(after, "Left out until you trust"))
						require.True(t, has(after, "available_commands_update"))
					})
				})
			}
		}
	}
}
