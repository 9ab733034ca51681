package session_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/testing/fakedroid"
)

// parkedEditor has a session of two turns without a process.
func parkedEditor(t *testing.T, f *fleet) *editor {
	t.Helper()
	e := begin(t, f.start)
	require.Equal(t, "end_turn", e.run("one"))
	require.Equal(t, "end_turn", e.run("two"))
	e.inside(func(s *session.Session) { s.ReplaceDroid() })
	require.Zero(t, f.alive())
	return e
}

// A client that opens a session which is being opened already gets what it requested.
func TestSecondOpenerGetsItsHistory(t *testing.T) {
	for name, first := range map[string]func(e *editor) string{
		"resume": func(e *editor) string { return e.request("session/resume", sessionParamsOf(e.session)) },
		"load":   func(e *editor) string { return e.request("session/load", sessionParamsOf(e.session)) },
		"set_mode": func(e *editor) string {
			return e.request("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"spec"}`, e.session))
		},
		"messages": func(e *editor) string {
			return e.request("_droid/messages", fmt.Sprintf(`{"sessionId":%q}`, e.session))
		},
	} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				e := parkedEditor(t, newFleet(t, v, repeats()))
				seen := len(e.of(e.session))
				before := first(e)
				load := e.request("session/load", sessionParamsOf(e.session))
				behind := e.request("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"auto-low"}`, e.session))
				for _, id := range []string{before, load, behind} {
					require.Nil(t, e.await(id).Error)
				}
				told := slices.DeleteFunc(e.of(e.session)[seen:], func(u string) bool { return strings.HasPrefix(u, "mode ") })
				history := []string{"user: one", "agent: re: one", "user: two", "agent: re: two"}
				if name == "load" {
					history = append(history, history...)
				}
				require.Equal(t, history, told)
				var mode string
				e.inside(func(s *session.Session) { mode = string(s.State().Mode) })
				require.Equal(t, "auto-low", mode)
			})
		})
	}
}

// Before the response to a load the editor is sent its state again, once: the commands, and how full the context is.
func TestLoadTellsAnewWhatTheEditorKnew(t *testing.T) {
	for name, closed := range map[string]bool{"open": false, "stored": true} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				f := newFleet(t, v, repeats())
				e := begin(t, f.start)
				require.Equal(t, "end_turn", e.run("one"))
				synctest.Wait()
				if closed {
					require.Nil(t, e.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error)
					require.Zero(t, f.alive())
				}
				seen := len(e.received())
				load := e.request("session/load", sessionParamsOf(e.session))
				require.Equal(t, "end_turn", e.run("two"))
				told, loaded := map[string]int{}, false
				for _, m := range e.received()[seen:] {
					loaded = loaded || string(m.ID) == load
					for _, kind := range []string{"available_commands_update", "usage_update"} {
						if strings.Contains(string(m.Params), kind) {
							require.False(t, loaded, kind)
							told[kind]++
						}
					}
				}
				require.Equal(t, 1, told["available_commands_update"])
				if !strings.Contains(t.Name(), string(fakedroid.V099)) {
					require.Equal(t, 1, told["usage_update"])
				}
			})
		})
	}
}

// Each request after a failed load is answered, even if the load was cancelled, and the session is as unknown as before.
func TestBehindALoadThatFails(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		versions(t, func(t *testing.T, v fakedroid.Option) {
			e := slowStore(t, v)
			e.session = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
			first := e.request("session/load", sessionParamsOf(e.session))
			ids := []string{e.request("session/resume", sessionParamsOf(e.session)), e.request("session/load", sessionParamsOf(e.session)), e.prompt("hello")}
			time.Sleep(time.Second)
			if cancelled {
				e.notify("$/cancel_request", `{"requestId":`+first+`}`)
				require.Equal(t, -32800, e.await(first).Error.Code)
			} else {
				ids = append(ids, first)
			}
			for _, id := range ids {
				require.Contains(t, ended(e.await(id)), "-32002")
			}
			require.Contains(t, e.run("again"), "-32002")
			e.settle()
			require.Empty(t, e.agent.Sessions.List())
		})
	}
}

// Updates of an open session continue if it could not be resumed.
func TestResumeThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := fakedroid.WithAnswer("droid.load_session", func(map[string]any) (any, string) { return nil, "no" })
		e := begin(t, playing(repeats(), fakedroid.WithVersion(fakedroid.V0225), fails))
		require.Equal(t, "end_turn", e.run("one"))
		require.NotNil(t, e.call("session/resume", sessionParamsOf(e.session)).Error)
		n := len(e.received())
		require.Equal(t, "end_turn", e.run("two"))
		require.Contains(t, e.since(n), `two"`) // with what comes before it in one chunk, or alone
	})
}

// Loading the session is the way out after three crashes; a command that droid never got is not, nor is a prompt that was cancelled.
func TestLoadAfterThreeCrashes(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		good := false
		f := newFleet(t, v, eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if good {
				return d.Say("", "fine")
			}
			return d.Die(137, "")
		}))
		e := begin(t, f.start)
		for i := range turns.MaxCrashes {
			end, last := e.run(fmt.Sprint(i)), i == turns.MaxCrashes-1
			require.Contains(t, end, "-32603 droid is gone.")
			require.Equal(t, !last, strings.Contains(end, "The next prompt starts droid again"), end)
			require.Equal(t, last, strings.Contains(end, "3 times in a row") && strings.Contains(end, "load the session again"), end)
			require.Equal(t, "end_turn", e.run("/help"))
		}
		require.Contains(t, e.run("once more"), "droid died 3 times in a row")
		for _, method := range []string{"session/load", "session/resume"} {
			require.Nil(t, e.call(method, sessionParamsOf(e.session)).Error)
			for i := range turns.MaxCrashes {
				require.Contains(t, e.run(fmt.Sprint(i)), "-32603 droid ", "the count began anew")
			}
			starts := e.starts
			require.Contains(t, e.run("once more"), "droid died 3 times in a row")
			require.Equal(t, starts, e.starts, "it is not started for ever")
		}
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
		good = true
		require.Equal(t, "end_turn", e.run("at last"))
		require.Contains(t, e.updates(), "agent: fine")
	})
}

// TestPanicWhenALoadHasCome: a load that a panic took along is refused, and what
// comes after it does not wait for it.
func TestPanicWhenALoadHasCome(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		f := newFleet(t, v, repeats())
		e := begin(t, f.start)
		require.Equal(t, "end_turn", e.run("one"))
		e.inside(func(s *session.Session) { // the ids of the calls that the load has shown cannot be taken
			s.View().Event(render.Moment{}, quirks.ToolStarted{ID: "t"}, nil)
			*s.Process().Normalizer() = quirks.Normalizer{}
		})
		load := e.request("session/load", sessionParamsOf(e.session))
		behind := e.request("session/resume", sessionParamsOf(e.session))
		require.Contains(t, ended(e.await(load)), "droid-acp failed")
		e.await(behind) // which may have come after the panic
		require.Equal(t, "end_turn", e.run("two"))
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
	})
}

// TestCancelledLoadsLeaveNothing cancels two loads of a session that is not open yet; the next load opens it.
func TestCancelledLoadsLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		id := f.store.Add("/workspace")
		f.options = append(f.options, fakedroid.WithAnswer("droid.load_session", func(map[string]any) (any, string) {
			return fakedroid.Later{After: 5 * time.Second, Then: func(map[string]any) (any, string) { return nil, "" }}, ""
		}))
		e := connect(t, f.start)
		e.session = id
		first, second := e.request("session/load", sessionParamsOf(id)), e.request("session/load", sessionParamsOf(id))
		time.Sleep(time.Second)
		for _, load := range []string{first, second} {
			e.notify("$/cancel_request", `{"requestId":`+load+`}`)
			require.Equal(t, -32800, e.await(load).Error.Code)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		require.Nil(t, e.call("session/load", sessionParamsOf(id)).Error)
		require.Equal(t, "end_turn", e.run("hello"))
	})
}

// A prompt behind a cancelled load begins when the load has restored the session, for which it may replace droid.
func TestPromptBehindACancelledLoad(t *testing.T) {
	for _, link := range []string{"", `,{"type":"resource_link","name":"a","uri":"file:///workspace/a.txt"}`} {
		t.Run(link, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
					if p.Text != "/compact" {
						time.Sleep(2 * time.Second)
					}
					return d.Say("", "re: "+p.Text)
				})), filepath.Join(t.TempDir(), "sessions")
				e := agentOn(t, f, root)
				e.beginSession()
				require.Equal(t, "end_turn", e.run("one"))
				require.Equal(t, "end_turn", e.run("/compact"))
				file(t, root, e.session, "")
				file(t, root, f.made(), "")
				read := make(chan struct{})
				e.agent.Calls.BeforeCall = func(c files.CallName) {
					switch c {
					case "Store.Summary":
						<-read
					case "stat of a link":
						time.Sleep(400 * time.Millisecond)
					}
				}
				load := e.request("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[{"name":"x","command":"/bin/x","args":[],"env":[]}]}`, e.session))
				e.settle()
				e.notify("$/cancel_request", `{"requestId":`+load+`}`)
				require.NotNil(t, e.await(load).Error)
				prompt := e.request("session/prompt", e.inSession(`,"prompt":[{"type":"text","text":"two"}`+link+`]`))
				time.Sleep(100 * time.Millisecond)
				close(read)
				require.Equal(t, "end_turn", ended(e.await(prompt)))
			})
		})
	}
}

// A droid that is replaced while a prompt is prepared is started again for it.
func TestReplacedWhileAPromptIsPrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
		require.Nil(t, r.newSession().Error)
		answer := make(chan struct{})
		r.ask = func(permission) string { <-answer; return "trust" }
		id := r.prompt("hello")
		r.until("the question", func() bool { return r.questions() == 1 })
		r.inside(func(s *session.Session) { s.ReplaceDroid() })
		close(answer)
		require.Equal(t, "end_turn", ended(r.await(id)))
	})
}

// A load that is cancelled after droid has loaded the session leaves no trace either.
func TestLoadIsCancelledLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		e := begin(t, f.start)
		require.Equal(t, "end_turn", e.run("one"))
		f.later("droid.list_commands", 5*time.Second)
		load := e.request("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[{"name":"x","command":"/bin/x","args":[],"env":[]}]}`, e.session))
		time.Sleep(time.Second)
		e.inside(func(s *session.Session) { require.Len(t, s.Servers().List(), 1) })
		e.notify("$/cancel_request", `{"requestId":`+load+`}`)
		require.Equal(t, -32800, e.await(load).Error.Code)
		e.settle()
		e.inside(func(s *session.Session) { require.Empty(t, s.Servers().List()) })
		require.Equal(t, "end_turn", e.run("two"))
	})
}
