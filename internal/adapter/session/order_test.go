package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/testing/fakedroid"
)

// inSession makes the params of a method from the session's id and more.
func (e *editor) inSession(more string) string {
	return fmt.Sprintf(`{"sessionId":%q%s}`, e.session, more)
}

// A /fork that was cancelled leaves no process in the copy: droid may have made it.
func TestQuirk35_CancelledFork(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		sessions := fakedroid.WithSessions(new(fakedroid.Sessions))
		slow := func(line []byte) {
			if strings.Contains(string(line), "fork_session") {
				time.Sleep(time.Second)
			}
		}
		e := begin(t, func(int) (*droid.Client, error) { return tappedDroid(slow, repeats(), v, sessions), nil })
		require.Equal(t, "end_turn", e.run("before"))
		fork := e.prompt("/fork")
		time.Sleep(500 * time.Millisecond)
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(fork)))
		require.Equal(t, "end_turn", e.run("behind"))
		from := len(e.received())
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
		history, _ := json.Marshal(e.received()[from:])
		require.Contains(t, string(history), "behind")
	})
}

// A malformed prompt is rejected at once, whatever the state of the session.
func TestShapeOfAPromptIsCheckedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi"), answering("update_session_settings", fakedroid.NoAnswer{})))
		mode := e.request("session/set_mode", e.inSession(`,"modeId":"spec"`))
		bad := e.request("session/prompt", e.inSession(`,"prompt":[{"type":"audio"}]`))
		answer, ok := e.answered(bad)
		require.True(t, ok)
		require.Contains(t, answer.Error.Message, "audio is not supported")
		_, ok = e.answered(mode)
		require.False(t, ok)
	})
}

// refusesMode is a droid that answers requests to change settings with an error, or accepts
// them without obeying, while refuse says so.
func refusesMode(refuse func() string) fakedroid.Option {
	return fakedroid.WithAnswer("droid.update_session_settings", func(map[string]any) (any, string) {
		switch why := refuse(); why {
		case "":
			return nil, ""
		case "ignore":
			return fakedroid.Fields{}, ""
		case "hang":
			return fakedroid.NoAnswer{}, ""
		default:
			return nil, why
		}
	})
}

// slowSettings delays requests for settings, so that more is sent before droid answers.
func slowSettings(line []byte) {
	if strings.Contains(string(line), "update_session_settings") {
		time.Sleep(100 * time.Millisecond)
	}
}

// A slow disk with the files that a prompt links does not delay the prompt so much that it misses the failure of the mode before it.
func TestPromptWithLinksBehindAModeThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := ""
		e := begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(slowSettings, uses(touch), refusesMode(func() string { return refuse })), nil
		})
		e.agent.Launcher.Stat = func(path string) (os.FileInfo, error) {
			time.Sleep(400 * time.Millisecond)
			return os.Stat(path)
		}
		mode := func(mode string) string {
			return e.request("session/set_mode", e.inSession(fmt.Sprintf(`,"modeId":%q`, mode)))
		}
		require.Nil(t, e.await(mode("auto-high")).Error)
		refuse = "not today"
		failed := mode("normal")
		behind := e.request("session/prompt", e.inSession(`,"prompt":[{"type":"resource_link","uri":"file:///workspace/new.txt","name":"x"}]`))
		require.NotNil(t, e.await(failed).Error)
		require.Contains(t, ended(e.await(behind)), `The prompt was not sent, because the mode did not become "Auto (Off)"`)
	})
}

// So does another request before the prompt that reads a slow disk. The editor may learn of the failure before the prompt reaches the session.
func TestPromptBehindASlowRequestAndAModeThatFails(t *testing.T) {
	for _, way := range []string{"session/set_mode", "/mode"} {
		for _, to := range []string{"normal", "yolo"} { // droid refuses the first one, the agent the other
			for _, method := range []string{"session/prompt", "_session/steering"} {
				t.Run(way+" "+to+" "+method, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { behindASlowRequest(t, way, to, method) }) })
			}
		}
	}
}

func behindASlowRequest(t *testing.T, way, to, method string) {
	refuse := ""
	e := begin(t, func(int) (*droid.Client, error) {
		return tappedDroid(slowSettings, uses(touch), refusesMode(func() string { return refuse })), nil
	})
	e.agent.Calls.BeforeCall = func(call files.CallName) {
		if call == "Store.Thread" {
			time.Sleep(time.Second)
		}
	}
	change := func(mode string) string {
		if way == "/mode" {
			return e.prompt("/mode " + mode)
		}
		return e.request(way, e.inSession(fmt.Sprintf(`,"modeId":%q`, mode)))
	}
	e.await(change("auto-high"))
	refuse = "not today"
	slow := func() { e.request("session/set_title", e.inSession(`,"title":"slow"`)) }
	slow() // otherwise the agent could refuse the mode before the rest is sent
	failed := change(to)
	slow()
	behind := e.request(method, e.inSession(`,"prompt":[{"type":"text","text":"go"}]`))
	e.await(failed)
	knows := e.prompt("I know it is auto-high")
	said, _ := json.Marshal([]any{e.await(behind), e.received()})
	require.Contains(t, string(said), `The prompt was not sent, because the mode did not become`)
	require.Equal(t, "end_turn", ended(e.await(knows)))
}

// The same where the change to that mode panics.
func TestPromptBehindASlowRequestAndAModeThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fakedroid.WithSessions(new(fakedroid.Sessions))
		e := begin(t, func(int) (*droid.Client, error) { return tappedDroid(slowSettings, uses(touch), store), nil })
		e.agent.Calls.BeforeCall = func(call files.CallName) {
			if call == "Store.Thread" {
				time.Sleep(time.Second)
			}
		}
		e.await(e.request("session/set_mode", e.inSession(`,"modeId":"auto-high"`)))
		e.request("session/set_mode", e.inSession(`,"modeId":"normal"`))
		e.request("session/set_title", e.inSession(`,"title":"slow"`))
		behind := e.prompt("go")
		time.Sleep(50 * time.Millisecond) // droid has not answered
		e.posts(func(*session.Session) { panic("test") })
		require.Contains(t, ended(e.await(behind)), "-32603 droid-acp failed: test")
		require.Equal(t, "end_turn", e.run("I know it is auto-high"))
	})
}

// So does a prompt that is sent after the panic, while the next droid is asked for the mode.
func TestPromptBetweenAPanicAndAModeThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse, store := "", fakedroid.WithSessions(new(fakedroid.Sessions))
		e := begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(slowSettings, uses(touch), store, refusesMode(func() string { return refuse })), nil
		})
		e.await(e.request("session/set_mode", e.inSession(`,"modeId":"auto-high"`)))
		refuse = "not today"
		failed := e.request("session/set_mode", e.inSession(`,"modeId":"normal"`))
		time.Sleep(50 * time.Millisecond) // droid has not answered
		e.posts(func(*session.Session) { panic("test") })
		between := e.prompt("go")
		require.NotNil(t, e.await(failed).Error)
		require.Contains(t, ended(e.await(between)), `The prompt was not sent, because the mode did not become "Auto (Off)"`)
		require.Equal(t, "end_turn", e.run("I know it is auto-high"))
	})
}

// A turn that was cancelled ends in the mode that it began in: what droid still does for it asks as before.
func TestCancelledTurnKeepsItsMode(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		var modes []string
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			for began := time.Now(); time.Since(began) < 3*time.Second; {
				_ = d.Pause(100 * time.Millisecond) // it ignores the interrupt
			}
			modes = append(modes, d.Mode())
			return nil
		}), v))
		id := e.prompt("go")
		time.Sleep(time.Second)
		e.cancel()
		synctest.Wait()
		require.Nil(t, e.set("mode", "auto-high").Error)
		require.Equal(t, "cancelled", ended(e.await(id)))
		require.Equal(t, []string{"normal"}, modes)
	})
}

// A prompt that was sent after a change to a stricter mode, or a /mode, is not sent to droid if the change fails. It is sent if the editor
// already knew of the failure, or if the failed change was to a more permissive mode.
func TestPromptBehindAModeThatFails(t *testing.T) {
	for _, how := range []string{"not today", "ignore", "hang", "die"} {
		for _, way := range []string{"session/set_mode", "/mode"} {
			t.Run(how+" "+way, func(t *testing.T) {
				versions(t, func(t *testing.T, v fakedroid.Option) {
					refuse := ""
					e := begin(t, func(int) (*droid.Client, error) {
						return tappedDroid(slowSettings, uses(touch), v, refusesMode(func() string { return refuse })), nil
					})
					change := func(mode string) (id string) {
						if way == "/mode" {
							return e.prompt("/mode " + mode)
						}
						return e.request(way, e.inSession(fmt.Sprintf(`,"modeId":%q`, mode)))
					}
					failed := func(id string) bool { m := e.await(id); return m.Error != nil || ended(m) == "end_turn" } // as a command it says so
					require.Equal(t, way == "/mode", ended(e.await(change("auto-high"))) == "end_turn")
					refuse = how
					mode, behind, more := change("normal"), e.prompt("go"), e.prompt("/help")
					require.True(t, failed(mode))
					for _, id := range []string{behind, more} {
						require.Contains(t, ended(e.await(id)), `-32603 The prompt was not sent, because the mode did not become "Auto (Off)"`)
					}
					answered := func(id string) int {
						return slices.IndexFunc(e.received(), func(m wireMessage) bool { return m.Method == "" && string(m.ID) == id })
					}
					require.Less(t, answered(mode), answered(behind), "the reason comes first")
					require.Equal(t, "end_turn", e.run("I know it is auto-high"))
					e.inside(func(s *session.Session) { require.Zero(t, s.Prompts().Changing(turns.General)) })
					free := change("auto-high")
					require.Equal(t, "end_turn", e.run("nothing is lost"))
					e.await(free)
					if way == "/mode" {
						return
					}
					refuse = ""
					yolo := func(mode string) string {
						first := change(mode)
						unknown, behind := change("yolo"), e.prompt("go")
						require.Nil(t, e.await(first).Error)
						require.Equal(t, -32602, e.await(unknown).Error.Code)
						return ended(e.await(behind))
					}
					require.Contains(t, yolo("auto-medium"), "The prompt was not sent, because the mode did not become", "nobody knows what yolo asks for")
					require.Equal(t, "end_turn", yolo("normal"), "it asks for everything")
				})
			})
		}
	}
}

// A prompt that was sent behind another model does not go to the one before if droid does not take that.
func TestPromptBehindAModelThatFails(t *testing.T) {
	const asked = "The prompt was not sent, because droid did not take "
	for _, how := range []string{"not today", "ignore", "hang"} {
		versions(t, func(t *testing.T, v fakedroid.Option) {
			refuse := how
			e := begin(t, func(int) (*droid.Client, error) {
				return tappedDroid(slowSettings, repeats(), v, refusesMode(func() string { return refuse })), nil
			})
			for _, change := range []func() string{
				func() string { return e.request("session/set_model", e.inSession(`,"modelId":"fake-thinker"`)) },
				func() string {
					return e.request("session/set_config_option", e.inSession(`,"configId":"spec_model","value":"fake-thinker"`))
				},
				func() string { return e.prompt("/model fake-thinker") },
			} {
				id, behind := change(), e.prompt("go")
				answer := e.await(id)
				require.True(t, answer.Error != nil || ended(answer) == "end_turn")
				require.Contains(t, ended(e.await(behind)), asked)
				require.Equal(t, "end_turn", e.run("I know of it"))
			}
			refuse = ""
			id, behind := e.request("session/set_model", e.inSession(`,"modelId":"fake-thinker"`)), e.prompt("go")
			require.Nil(t, e.await(id).Error)
			require.Equal(t, "end_turn", ended(e.await(behind)))
			refuse = how
			id, behind = e.request("session/set_config_option", e.inSession(`,"configId":"reasoning_effort","value":"low"`)), e.prompt("go")
			require.NotNil(t, e.await(id).Error)
			require.Equal(t, "end_turn", ended(e.await(behind)), "the model is the same")
		})
	}
}

// A change after a prompt that waits for droid waits with it, and can be cancelled.
func TestChangeBehindAPromptThatWaits(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		told, sessions := new(toldLines), new(fakedroid.Sessions)
		e := begin(t, func(n int) (*droid.Client, error) {
			if n > 1 {
				time.Sleep(5 * time.Second)
			}
			return tappedDroid(told.add, says("hi"), v, fakedroid.WithSessions(sessions)), nil
		})
		require.Equal(t, "end_turn", e.run("one"))
		e.inside(func(s *session.Session) { s.ReplaceDroid() })
		told.forget()
		prompt := e.prompt("hello")
		mode, spec := e.request("session/set_mode", e.inSession(`,"modeId":"auto-high"`)), e.request("session/set_mode", e.inSession(`,"modeId":"spec"`))
		e.settle()
		e.notify("$/cancel_request", `{"requestId":`+mode+`}`)
		answer, ok := e.answered(mode)
		require.True(t, ok)
		require.Equal(t, -32800, answer.Error.Code)
		require.Equal(t, "end_turn", ended(e.await(prompt)))
		require.Nil(t, e.await(spec).Error)
		require.Less(t, told.place(1, `"text":"hello"`), told.place(1, `"autonomyMode":"spec"`))
		require.Equal(t, -1, told.place(1, `"autonomyMode":"auto-high"`))
	})
}

// A stricter mode does not wait for a command for another model that waits for the end of the turn.
func TestStricterModeBeforeACommandThatWaits(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		told := new(toldLines)
		e := begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(told.add, says("one two three four five six seven eight nine ten"), v, fakedroid.WithPace(time.Second)), nil
		})
		prompt := e.prompt("hello")
		e.settle()
		model := e.prompt("/model fake-thinker")
		require.Nil(t, e.await(e.request("session/set_mode", e.inSession(`,"modeId":"spec"`))).Error)
		_, over := e.answered(prompt)
		require.False(t, over)
		require.Equal(t, "end_turn", ended(e.await(prompt)))
		require.Equal(t, "end_turn", ended(e.await(model)))
		require.Less(t, told.place(1, `"autonomyMode":"spec"`), told.place(1, `"modelId":"fake-thinker"`))
		require.Equal(t, "mode spec", e.lastMode())
	})
}

// A command that changes a setting and was cancelled holds the next prompt until droid has
// answered it.
func TestPromptBehindACancelledSetting(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		told := new(toldLines)
		slow := func(line []byte) {
			if strings.Contains(string(line), "update_session_settings") {
				time.Sleep(time.Second)
			}
			told.add(line)
		}
		e := begin(t, func(int) (*droid.Client, error) { return tappedDroid(slow, says("hi"), v), nil })
		command := e.prompt("/mode spec")
		time.Sleep(500 * time.Millisecond)
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(command)))
		require.Equal(t, "end_turn", e.run("hello"))
		require.Less(t, told.place(1, `"autonomyMode":"spec"`), told.place(1, `"text":"hello"`))
	})
}

// A change that was cancelled before its turn delays nothing (TestWorlds/732).
func TestCancelledBeforeItsTurn(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(says("hi"), v))
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		e.inside(func(s *session.Session) {
			s.Lock().Go(func() {
				_, err := s.BeginChange(cancelled, turns.General)
				require.Equal(t, acperr.Cancelled(), err)
			})
			require.Zero(t, s.Prompts().Changing(turns.General))
		})
		require.Nil(t, e.set("mode", "spec").Error)
	})
}

// A panic during a change delays nothing.
func TestPanicInAChange(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(says("hi"), v, fakedroid.WithSessions(new(fakedroid.Sessions))))
		e.inside(func(s *session.Session) {
			s.Lock().Go(func() { _, _ = s.BeginChange(s.Context, turns.General) })
		})
		behind := e.prompt("behind it")
		e.settle()
		e.inside(func(s *session.Session) { s.Lock().Post(func() { panic("test") }) })
		require.Contains(t, ended(e.await(behind)), "-32603")
		require.Equal(t, "end_turn", e.run("hello"))
		require.Nil(t, e.set("mode", "spec").Error)
	})
}

// TestWhatStandsBehindACommand checks that requests after a command that is answered at once start, even if nothing else happens in the
// session.
func TestWhatStandsBehindACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		require.Equal(t, "end_turn", e.run("one"))
		time.Sleep(time.Minute)
		var its *turns.Change
		e.inside(func(s *session.Session) { its = s.Prompts().Change(turns.General) })
		e.request("_session/steering", e.inSession(`,"prompt":[{"type":"text","text":"/model"}]`)) // it has no response whose end would wake the session
		last := e.prompt("hello")
		e.settle()
		e.inside(func(s *session.Session) { s.Prompts().FinishChange(its, nil) })
		_, ok := e.answered(last)
		require.True(t, ok)
	})
}
