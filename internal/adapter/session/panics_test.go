package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
	"droid-acp/internal/testing/fakedroid"
)

// asking are droids of one store. A prompt "wait" lasts until a permission is
// answered.
func asking() starter {
	store := fakedroid.WithSessions(new(fakedroid.Sessions))
	return func(int) (*droid.Client, error) {
		return fakeDroid(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if p.Text == "wait" {
				return d.Use("", "", touch)
			}
			return d.Say("", "said")
		}), store), nil
	}
}

// twoSessions is an editor with two open sessions. The second, which is its
// current one, has a prompt that runs until a permission is answered.
func twoSessions(t *testing.T, start starter) (e *editor, other, running string) {
	e = begin(t, start)
	e.ask = nil
	other = e.session
	e.beginSession()
	running = e.prompt("wait")
	synctest.Wait()
	require.NotEqual(t, other, e.session)
	return e, other, running
}

// posts runs f with the lock of the current session; it may panic.
func (e *editor) posts(f func(s *session.Session)) {
	s, err := e.find(e.session)
	require.Nil(e.t, err)
	require.True(e.t, s.Lock().Post(func() { f(s) }))
	synctest.Wait()
}

// What a panic ends comes before the response to its prompt: the question and the calls.
func TestPanicEndsAllOfItsPromptFirst(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(uses(touch), v))
		e.ask = nil
		id := e.prompt("go")
		synctest.Wait()
		e.posts(func(*session.Session) { panic("test") })
		require.Contains(t, ended(e.await(id)), "droid-acp failed: test")
		time.Sleep(time.Second)
		got := e.updates()
		require.Contains(t, got, "withdrawn")
		require.Contains(t, got, "tool_call_update t1 failed")
		require.Contains(t, got[len(got)-1], "end ", "%v", got)
	})
}

// TestPanicWithoutTheLockEndsOneTurn: as one with it does. The prompt ends
// with an error that says so, its process goes, all else lives on.
func TestPanicWithoutTheLockEndsOneTurn(t *testing.T) {
	for name, act := range map[string]func(s *session.Session){
		"with the lock":    func(*session.Session) { panic("test") },
		"without the lock": func(s *session.Session) { s.Async(func(context.Context) { panic("test") }) },
		"in a call to droid": func(s *session.Session) {
			s.Lock().Go(func() {
				release, _ := s.LockRPC(s.Context)
				defer release()
				s.Unlocked(func(context.Context) { panic("test") })
			})
			calling(s, func(release func()) { release() })
		},
		"at the end of a prompt": func(s *session.Session) {
			s.Lock().Go(func() {
				if s.AwaitQuiet(s.Context) == nil {
					panic("test")
				}
			})
			s.Prompts().FailRunning(acperr.Internal("x", "y"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				e, other, running := twoSessions(t, asking())
				var client *droid.Client
				e.inside(func(s *session.Session) { client = s.Process().Client() })
				e.posts(act)
				m := e.await(running)
				require.NotNil(t, m.Error)
				if name != "at the end of a prompt" {
					require.Contains(t, m.Error.Message, "droid-acp failed: test")
				}
				<-client.Exited()
				require.Equal(t, "end_turn", e.run("go on"), "the session has a new process")
				e.session = other
				require.Equal(t, "end_turn", e.run("hello"))
			})
		})
	}
}

// TestPanicLeavesNoRequestWithoutAnswer: after a panic, requests that waited for the session or for a concurrent call are answered.
func TestPanicLeavesNoRequestWithoutAnswer(t *testing.T) {
	for name, method := range map[string][2]string{
		"mode":      {"session/set_mode", `{"sessionId":%q,"modeId":"spec"}`},
		"option":    {"session/set_config_option", `{"sessionId":%q,"configId":"mode","value":"spec"}`},
		"load":      {"session/load", `{"sessionId":%q,"cwd":"/w","mcpServers":[]}`},
		"fork":      {"session/fork", `{"sessionId":%q,"cwd":"/w","mcpServers":[]}`},
		"close":     {"session/close", `{"sessionId":%q}`},
		"prompt":    {"session/prompt", `{"sessionId":%q,"prompt":[{"type":"text","text":"hi"}]}`},
		"extension": {"_droid/state", `{"sessionId":%q}`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				e := begin(t, asking())
				gate := make(chan struct{})
				s, err := e.find(e.session)
				require.Nil(t, err)
				machine := s.Prompts().Machine
				s.Lock().Post(func() { <-gate; s.Prompts().Machine = nil }) // the session is busy while the request comes, which panics then
				synctest.Wait()
				id := e.request(method[0], fmt.Sprintf(method[1], e.session))
				synctest.Wait()
				s.Lock().Post(func() { s.Prompts().Machine = machine })
				close(gate)
				m := e.await(id)
				if name != "close" { // which then has nothing to wait for
					require.NotNil(t, m.Error)
					require.Contains(t, m.Error.Message, "droid-acp failed")
				}
			})
		})
	}
}

// TestPanicWhileDroidStarts: the request that waits for the process is answered,
// and the next one starts another.
func TestPanicWhileDroidStarts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := asking()
		e := begin(t, func(n int) (*droid.Client, error) {
			if n == 2 {
				panic("test")
			}
			return start(n)
		})
		e.inside(func(s *session.Session) { s.Process().Client().Kill() })
		synctest.Wait()
		require.Contains(t, e.run("one"), "droid-acp failed")
		require.Equal(t, "end_turn", e.run("two"))
	})
}

// TestPanicOfTheSpare: the process that is started ahead.
func TestPanicOfTheSpare(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := connect(t, func(n int) (*droid.Client, error) {
			if n == 1 {
				panic("test")
			}
			return fakeDroid(says("hi")), nil
		})
		e.beginSession()
		require.Equal(t, "end_turn", e.run("go"))
	})
}

// TestPanicWhileAnInterruptRuns: the next prompt does not wait for it for ever.
func TestPanicWhileAnInterruptRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e, _, running := twoSessions(t, asking())
		e.posts(func(s *session.Session) {
			s.Prompts().Cancel(time.Now()) // whose interrupt panics
			s.Lock().Go(func() {
				defer func() { s.Prompts().InterruptDone() }()
				s.Unlocked(func(context.Context) { panic("test") })
			})
		})
		require.Equal(t, "cancelled", ended(e.await(running)))
		require.Equal(t, "end_turn", e.run("next"))
	})
}

// TestPanicAtTheEndOfATurn checks that the prompt is answered.
func TestPanicAtTheEndOfATurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		request := ""
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if request != "" {
				return d.Say("", "said")
			}
			request = p.RequestID
			return d.Pause(time.Minute)
		}), fakedroid.WithSessions(new(fakedroid.Sessions))))
		running := e.prompt("go")
		synctest.Wait()
		e.posts(func(s *session.Session) {
			defer s.PanicsShowing()()
			s.ApplyEvent(quirks.TurnEnded{RequestID: request})
		})
		require.Contains(t, ended(e.await(running)), "droid-acp failed")
		require.Equal(t, "end_turn", e.run("next"))
	})
}

// noSteps is a dialog without a step.
type noSteps struct{ render.Dialog }

func (noSteps) Next() (step render.Step, more bool) { return step, false }

// stayOpen opens a question that nobody answers, and that panics when it is withdrawn.
func stayOpen(s *session.Session) {
	s.Lock().Go(func() {
		s.Questions().Open("before", nil)
		s.Questions().Open("x", nil).Run(s.Context, s.Updates(), noSteps{})
		panic("test")
	})
}

// TestPanicAtTheEndOfASession checks that the agent ends, and that every prompt is answered.
func TestPanicAtTheEndOfASession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e, _, running := twoSessions(t, asking())
		waiting := e.prompt("later")
		e.posts(func(s *session.Session) {
			stayOpen(s)
		})
		e.close()
		for _, id := range []string{running, waiting} {
			_, ok := e.answered(id)
			require.True(t, ok)
		}
	})
}

// TestPanicAtTheEndLeavesNoDroid checks that a session ends only after its process is gone, however it ended; then its id can be opened
// again.
func TestPanicAtTheEndLeavesNoDroid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var client *droid.Client
		e := begin(t, func(int) (*droid.Client, error) {
			client = fakeDroid(says("hi"))
			return client, nil
		})
		s, err := e.find(e.session)
		require.Nil(t, err)
		e.posts(func(s *session.Session) {
			stayOpen(s)
		})
		s.Stop()
		synctest.Wait()
		require.NotNil(t, client.ExitError())
	})
}

// TestPanicLeavesWaitingPromptsInTheQueue checks that the prompts after the one that was lost run next, and are answered once.
func TestPanicLeavesWaitingPromptsInTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e, _, running := twoSessions(t, asking())
		later := e.prompt("later")
		synctest.Wait()
		e.posts(func(*session.Session) { panic("test") })
		require.NotNil(t, e.await(running).Error)
		require.Equal(t, "end_turn", ended(e.await(later)))
		require.Contains(t, e.updates(), "agent: \n\nsaid")
	})
}

// TestPanicBehindAPromptInTheQueue checks that a prompt whose request failed by a panic does not run later.
func TestPanicBehindAPromptInTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e, _, running := twoSessions(t, asking())
		gate := make(chan struct{})
		var view render.View
		e.posts(func(s *session.Session) {
			s.Lock().Post(func() {
				<-gate
				view, *s.View() = *s.View(), render.View{} // which panics when it is to show that the prompt waits
			})
		})
		failed := e.prompt("failed")
		synctest.Wait()
		s, err := e.find(e.session)
		require.Nil(t, err)
		s.Lock().Post(func() { *s.View() = view })
		close(gate)
		require.Contains(t, ended(e.await(failed)), "droid-acp failed")
		require.NotNil(t, e.await(running).Error)
		require.Equal(t, "end_turn", e.run("next"))
		require.Equal(t, 1, strings.Count(strings.Join(e.updates(), "\n"), "said"))
	})
}

// TestPanicFailsWhatWasMeantForAMode checks that a prompt that was sent after a /mode does not run in the previous mode.
func TestPanicFailsWhatWasMeantForAMode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		silent := answering("update_session_settings", fakedroid.NoAnswer{})
		e := begin(t, playing(says("hi"), silent))
		mode := e.prompt("/mode spec")
		synctest.Wait()
		behind := e.prompt("go on")
		synctest.Wait()
		e.posts(func(*session.Session) { panic("test") })
		require.Contains(t, ended(e.await(mode)), "droid-acp failed")
		require.Contains(t, ended(e.await(behind)), "droid-acp failed")
	})
}

// calling has a goroutine hold the calls to droid.
func calling(s *session.Session, f func(release func())) {
	s.Lock().Go(func() {
		if release, err := s.LockRPC(s.Context); err == nil {
			f(release)
		}
	})
}

// A panic of what follows a panic, also of its report, ends nothing else and is not followed by others.
func TestPanicAfterAPanic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e, other, running := twoSessions(t, asking())
		e.agent.Config.Reports = t.TempDir()
		var client *droid.Client
		panics := 0
		e.inside(func(s *session.Session) { client = s.Process().Client() })
		e.agent.Config.RecentLog = func() []string {
			if panics++; panics < 10 {
				panic("report")
			}
			return nil
		}
		e.posts(func(*session.Session) { panic("test") })
		require.Contains(t, e.await(running).Error.Message, "droid-acp failed: test")
		<-client.Exited()
		require.Equal(t, 1, panics)
		e.session = other
		require.Equal(t, "end_turn", e.run("hello"))
	})
}
