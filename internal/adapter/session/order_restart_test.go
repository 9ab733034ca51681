package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// forgetful begins a session in which droid was asked for the mode "normal", and whose file
// says "auto-high". Its process is gone. It takes changes while refuse says "", and all but the next one where it says "once".
func forgetful(t *testing.T, v fakedroid.Option, refuse *string) *editor {
	*refuse = ""
	sessions := fakedroid.WithSessions(new(fakedroid.Sessions))
	e := begin(t, playing(uses(touch), v, sessions, refusesMode(func() string {
		if *refuse == "once" {
			*refuse = ""
			return "not now"
		}
		return *refuse
	})))
	require.Nil(t, e.set("mode", "auto-high").Error)
	require.Equal(t, "end_turn", e.run("one"))
	e.inside(func(s *session.Session) {
		settings := s.OptionState().Settings()
		normal := "normal"
		settings.AutonomyMode, settings.AutonomyLevel = &normal, nil
		s.OptionState().Reported(settings)
		s.ReplaceDroid()
	})
	return e
}

// asked is how often the user was asked for permission.
func (e *editor) asks() (n int) {
	for _, u := range e.updates() {
		if u == "ask" {
			n++
		}
	}
	return n
}

// A droid that was started again and refuses its mode, or does not obey, gets no prompt until it
// does, or the user has chosen a mode.
func TestRestartedDroidThatRefusesItsMode(t *testing.T) {
	for _, how := range []string{"not today", "ignore", "hang"} {
		for name, servers := range map[string]string{"prompt": "", "load": `[]`, "load with other servers": `[{"name":"files","command":"mcp-files","args":[],"env":[]}]`} {
			t.Run(how+" "+name, func(t *testing.T) {
				versions(t, func(t *testing.T, v fakedroid.Option) {
					refuse := ""
					e := forgetful(t, v, &refuse)
					refuse = how
					if servers != "" {
						require.Nil(t, e.call("session/load", e.inSession(`,"cwd":"/workspace","mcpServers":`+servers)).Error)
					}
					for range 2 {
						end := e.run("two")
						require.Contains(t, end, `-32603 The prompt was not sent, because droid loaded the session again and did not take its mode "Auto (Off)" back: `)
						require.Contains(t, end, `The mode is "Auto (High)", in which droid asks less. Choose a mode, then send the prompt again.`)
					}
					require.Equal(t, "mode auto-high", e.lastMode(), "the editor shows it")
					refuse = ""
					require.Equal(t, "end_turn", e.run("three"), "it is asked once more")
					require.Equal(t, 1, e.asks())
					require.Equal(t, "mode normal", e.lastMode())

					if how == "ignore" { // who chooses the mode that droid insists on gets it
						e = forgetful(t, v, &refuse)
						refuse = how
						require.Contains(t, e.run("two"), "did not take its mode")
						require.Nil(t, e.set("mode", "auto-high").Error)
						require.Equal(t, "end_turn", e.run("three"))
						require.Zero(t, e.asks())
					}
				})
			})
		}
	}
}

// A stricter mode that the user sets while droid starts stays, also where droid does not take the mode from before back: the prompt that
// waits for droid does not set that again.
func TestStricterModeWhileDroidStarts(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		refuse := ""
		e := forgetful(t, v, &refuse)
		refuse = "once"
		prompt := e.prompt("two")
		mode := e.request("session/set_mode", e.inSession(`,"modeId":"spec"`))
		require.Nil(t, e.await(mode).Error)
		require.Equal(t, "end_turn", ended(e.await(prompt)))
		require.Equal(t, "mode spec", e.lastMode())
	})
}

func (e *editor) lastMode() (mode string) {
	for _, u := range e.updates() {
		if strings.HasPrefix(u, "mode ") {
			mode = u
		}
	}
	return mode
}

// A steering message that begins a turn takes its place in the queue when it arrives: a later cancel cancels it, and a later prompt runs
// after it. Its updates come after the answer.
func TestSteeringThatBeginsATurnHasItsPlace(t *testing.T) {
	for range 20 {
		versions(t, func(t *testing.T, v fakedroid.Option) {
			told := new(toldLines)
			e := begin(t, func(int) (*droid.Client, error) {
				return tappedDroid(told.add, eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
					return d.Say("", p.Text+" one two three four five six seven eight nine ten")
				}), v, fakedroid.WithPace(100*time.Millisecond)), nil
			})
			steering := e.steer("steered", "")
			e.cancel()
			require.JSONEq(t, `{"outcome":"startedNewTurn"}`, outcome(e.await(steering)))
			time.Sleep(10 * time.Second)
			require.NotContains(t, strings.Join(e.updates(), ""), "ten")

			steering = e.steer("first", "")
			behind := e.prompt("second")
			require.Equal(t, "end_turn", ended(e.await(behind)))
			require.Less(t, told.place(1, `"first"`), told.place(1, `"second"`))
			require.Regexp(t, "(?s)first one.* ten.*second one.* ten", strings.Join(e.updates(), "\n"))
			answered := false
			for _, m := range e.received() {
				answered = answered || m.Method == "" && string(m.ID) == steering
				require.True(t, answered || !strings.Contains(string(m.Params), "first"))
			}
		})
	}
}

// slowStore is a droid with a stored session that takes 30 s to start.
func slowStore(t *testing.T, v fakedroid.Option) *editor {
	sessions := new(fakedroid.Sessions)
	e := connect(t, func(int) (*droid.Client, error) {
		time.Sleep(30 * time.Second)
		return fakeDroid(repeats(), v, fakedroid.WithSessions(sessions)), nil
	})
	e.session = sessions.Add("/workspace")
	return e
}

// $/cancel_request of a load or a resume takes effect while droid starts. If nothing else waits for the session, it is not opened; it can
// be loaded again.
func TestLoadIsCancelledWhileDroidStarts(t *testing.T) {
	for _, method := range []string{"session/load", "session/resume"} {
		t.Run(method, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				e := slowStore(t, v)
				load := e.request(method, sessionParamsOf(e.session))
				time.Sleep(time.Second)
				e.notify("$/cancel_request", `{"requestId":`+load+`}`)
				answer, ok := e.answered(load)
				require.True(t, ok)
				require.Equal(t, -32800, answer.Error.Code)
				require.Contains(t, ended(e.await(e.prompt("hello"))), "-32002")
				require.Nil(t, e.call(method, sessionParamsOf(e.session)).Error)
				require.Equal(t, "end_turn", e.run("hello"))
			})
		})
	}
}

// Requests after a cancelled load get their own outcome: the session is opened for them, without the history.
func TestWhatWaitsBehindACancelledLoad(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := slowStore(t, v)
		load, prompt := e.request("session/load", sessionParamsOf(e.session)), e.prompt("hello")
		mode, title := e.request("session/set_mode", e.inSession(`,"modeId":"spec"`)), e.prompt("/status")
		time.Sleep(time.Second)
		e.notify("$/cancel_request", `{"requestId":`+load+`}`)
		answer, ok := e.answered(load)
		require.True(t, ok)
		require.Equal(t, -32800, answer.Error.Code)
		require.Equal(t, "end_turn", ended(e.await(prompt)))
		require.Nil(t, e.await(mode).Error)
		require.Equal(t, "end_turn", ended(e.await(title)))
		require.Regexp(t, "(?s)agent: re: .*hello", strings.Join(e.updates(), "\n"))
		require.Equal(t, "mode spec", e.lastMode(), "the editor is told as of any session")
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
	})
}

// A load that is cancelled while its history is shown leaves the session to the next prompt, and a load of an open session leaves it open.
func TestLoadIsCancelledLater(t *testing.T) {
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprint("known ", known), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sessions := new(fakedroid.Sessions)
				e := begin(t, playing(repeats(), fakedroid.WithSessions(sessions)))
				for range 4 {
					require.Equal(t, "end_turn", e.run(strings.Repeat("long_", 30_000)))
				}
				if !known {
					require.Nil(t, e.call("session/close", e.inSession("")).Error)
				}
				e.out.pause()
				load, prompt := e.request("session/load", sessionParamsOf(e.session)), e.prompt("hello")
				synctest.Wait()
				e.notify("$/cancel_request", `{"requestId":`+load+`}`)
				synctest.Wait()
				e.out.resume()
				answer := e.await(load)
				require.NotNil(t, answer.Error)
				require.Equal(t, -32800, answer.Error.Code)
				require.Equal(t, "end_turn", ended(e.await(prompt)))
				require.Equal(t, "end_turn", e.run("again"))
				list, _ := json.Marshal(e.call("_droid/state", e.inSession("")).Result)
				require.Contains(t, string(list), e.session)
			})
		})
	}
}
