package adapter

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"droid-acp/internal/adapter/options"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// steer sends a steering message and returns the id of the request.
func (e *editor) steer(text, meta string) string {
	return e.request("_session/steering", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]%s}`, e.session, text, meta))
}

const askBack = `,"_meta":{"steering":{"idleBehavior":"promptRequired"}}`

func outcome(m wireMessage) string {
	if m.Error != nil {
		return fmt.Sprint(m.Error.Code, " ", m.Error.Message, string(m.Error.Data))
	}
	return string(m.Result)
}

// Clients are told that they can steer.
func TestSteeringIsAdvertised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, playing(says("hi")))
		require.Contains(t, string(e.call("initialize", `{"protocolVersion":1}`).Result), `"_meta":{"steering":{"supported":true}}`)
	})
}

// Without a running turn the client is asked to send a prompt, if it wants to be asked.
func TestSteeringWithoutATurn(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		script := new(slow)
		e := begin(t, playing(script.script(), v))
		require.JSONEq(t, `{"outcome":"promptRequired","reason":"noRunningTurn"}`, outcome(e.await(e.steer("one", askBack))))
		require.Empty(t, script.texts)
		require.JSONEq(t, `{"outcome":"startedNewTurn"}`, outcome(e.await(e.steer("two", ""))))
		e.until("the turn runs", func() bool { return strings.Contains(strings.Join(e.updates(), "\n"), "agent: Answer to two") })
		require.Equal(t, "end_turn", e.run("three"))
		require.Equal(t, []string{"two", "three"}, script.texts)
		require.Equal(t, 1, strings.Count(strings.Join(e.updates(), "\n"), "end "))
	})
}

// A turn that the message began by itself and that fails says so, as nothing else does.
func TestSteeredTurnThatFails(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		core, logs := observer.New(zap.InfoLevel)
		e := openLogging(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			return d.Fail("model_request_rejected", "400 bad request", "The model refused the request.")
		}), v), zap.New(core))
		require.Nil(t, e.call("initialize", `{"protocolVersion":1}`).Error)
		e.beginSession()
		require.JSONEq(t, `{"outcome":"startedNewTurn"}`, outcome(e.await(e.steer("two", ""))))
		e.until("the failure is told", func() bool { return strings.Contains(strings.Join(e.updates(), "\n"), "agent: The turn failed: ") })
		ended := logs.FilterMessage("turn ended").All()
		require.Len(t, ended, 1)
		said := ended[0].ContextMap()
		require.IsType(t, 0., said["seconds"])
		delete(said, "seconds")
		require.Equal(t, map[string]any{"session": e.session, "code": int64(-32603), "kind": "model_request_rejected"}, said)
	})
}

// A turn that is being cancelled takes no message.
func TestSteeringACancelledTurn(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		script := new(slow)
		e := begin(t, playing(script.script(), v, fakedroid.WithPace(100*time.Millisecond), fakedroid.WithLateInterrupts()))
		first := e.prompt("stream first")
		time.Sleep(150 * time.Millisecond)
		e.cancel()
		require.JSONEq(t, `{"outcome":"promptRequired","reason":"noRunningTurn"}`, outcome(e.await(e.steer("second", askBack))))
		require.Equal(t, "cancelled", ended(e.await(first)))
	})
}

// A cancel ends the prompt and the messages that belong to it.
func TestCancelWithSteering(t *testing.T) {
	for name, late := range map[string]fakedroid.Option{"": func(*fakedroid.Droid) {}, "late": fakedroid.WithLateInterrupts()} {
		for _, moment := range []string{"stream", "tool"} {
			t.Run(moment+name, func(t *testing.T) {
				versions(t, func(t *testing.T, v fakedroid.Option) {
					script := new(slow)
					e := begin(t, playing(script.script(), v, late, fakedroid.WithPace(100*time.Millisecond)))
					first := e.prompt(moment + " first")
					time.Sleep(150 * time.Millisecond)
					require.JSONEq(t, `{"outcome":"injected"}`, outcome(e.await(e.steer("second", askBack))))
					require.JSONEq(t, `{"outcome":"injected"}`, outcome(e.await(e.steer("third", askBack))))
					e.cancel()
					require.Equal(t, "cancelled", ended(e.await(first)))
					require.Equal(t, "end_turn", e.run("fourth"))
					require.Equal(t, []string{moment + " first", "fourth"}, script.texts)
					require.Contains(t, strings.Join(e.updates(), "\n"), "droid discarded a waiting message: second")
				})
			})
		}
	}
}

// The first prompt's request alone is cancelled: the message goes with it.
func TestCancelRequestWithSteering(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		script := new(slow)
		e := begin(t, playing(script.script(), v, fakedroid.WithPace(100*time.Millisecond)))
		first := e.prompt("stream first")
		time.Sleep(150 * time.Millisecond)
		require.JSONEq(t, `{"outcome":"injected"}`, outcome(e.await(e.steer("second", askBack))))
		e.notify("$/cancel_request", fmt.Sprintf(`{"requestId":%s}`, first))
		require.Equal(t, "cancelled", ended(e.await(first)))
		require.Equal(t, "end_turn", e.run("third"))
		require.Equal(t, []string{"stream first", "third"}, script.texts)
	})
}

// A droid that dies fails the prompt once; a message that it never had is refused.
func TestDroidDiesWithSteering(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if err := d.Say("", "one two three"); err != nil {
				return err
			}
			return &fakedroid.Death{Code: 3}
		}), v, fakedroid.WithPace(100*time.Millisecond)))
		first := e.prompt("first")
		time.Sleep(150 * time.Millisecond)
		require.JSONEq(t, `{"outcome":"injected"}`, outcome(e.await(e.steer("second", askBack))))
		answer := e.await(first)
		require.NotNil(t, answer.Error)
		require.Equal(t, 1, strings.Count(strings.Join(e.updates(), "\n"), "end "))
	})
}

// A message that droid does not take is an error, and the prompt goes on.
func TestSteeringThatDroidRefuses(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		sent := 0
		e := begin(t, playing(new(slow).script(), v, fakedroid.WithPace(100*time.Millisecond), fakedroid.WithAnswer("droid.add_user_message", func(map[string]any) (any, string) {
			if sent++; sent == 2 {
				return nil, "no room"
			}
			return nil, ""
		})))
		first := e.prompt("stream first")
		time.Sleep(150 * time.Millisecond)
		require.Contains(t, outcome(e.await(e.steer("second", askBack))), "no room")
		require.Equal(t, "end_turn", ended(e.await(first)))
	})
}

// A steering message before droid has the prompt waits for that.
func TestSteeringBeforeDroidIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told strings.Builder
		e := begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) { told.Write(line) }, new(slow).script(), fakedroid.WithPace(100*time.Millisecond)), nil
		})
		first, steering := e.prompt("stream first"), e.steer("second", askBack)
		require.JSONEq(t, `{"outcome":"injected"}`, outcome(e.await(steering)))
		require.Equal(t, "end_turn", ended(e.await(first)))
		require.Less(t, strings.Index(told.String(), `"stream first"`), strings.Index(told.String(), `"second"`))
	})
}

// Requests that are no steering messages are refused.
func TestBadSteering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		for params, want := range map[string]string{
			`{"sessionId":"` + e.session + `","prompt":[]}`: "-32602",
			`{"sessionId":"` + e.session + `"}`:             "-32602",
			`{"sessionId":"` + e.session + `","prompt":[{"type":"text","text":"x"}],"_meta":{"steering":{"idleBehavior":"other"}}}`: "-32602",
			`{"sessionId":"nobody","prompt":[{"type":"text","text":"x"}]}`:                                                          "-32002",
			`{"prompt":[{"type":"text","text":"x"}]}`:                                                                               "-32602",
		} {
			require.Contains(t, outcome(e.call("_session/steering", params)), want, params)
		}
	})
}

// TestFoldedPromptIsNoEmptyAnswer: a prompt that went into the running turn is
// answered by that turn.
func TestFoldedPromptIsNoEmptyAnswer(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(new(slow).script(), v, fakedroid.WithFolding(), fakedroid.WithPace(100*time.Millisecond)))
		require.Nil(t, e.set("follow_up", options.Steer).Error)
		first := e.prompt("tool first")
		time.Sleep(150 * time.Millisecond)
		second := e.prompt("second")
		require.Equal(t, "end_turn", ended(e.await(first)))
		require.Equal(t, "end_turn", ended(e.await(second)))
		got := strings.Join(e.updates(), "\n")
		require.Contains(t, got, "added to the running turn")
		require.NotContains(t, got, "empty answer")
	})
}

// TestEmptyAnswerIsTold: a turn that brought nothing to see says so.
func TestEmptyAnswerIsTold(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(eachPrompt(func(*fakedroid.Droid, fakedroid.Prompt) error { return nil }), v))
		require.Equal(t, "end_turn", e.run("go"))
		require.Contains(t, e.updates(), "notice: The model gave an empty answer.")
	})
}

// TestCommandIsNotSteered: it is not droid's. It waits for the running turn, and
// so does what was sent after it.
func TestCommandIsNotSteered(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		script := new(slow)
		e := begin(t, playing(script.script(), v, fakedroid.WithFolding(), fakedroid.WithPace(100*time.Millisecond)))
		require.Nil(t, e.set("follow_up", options.Steer).Error)
		first := e.prompt("tool first")
		time.Sleep(150 * time.Millisecond)
		command, third := e.prompt("/help"), e.prompt("third")
		for _, id := range []string{first, command, third} {
			require.Equal(t, "end_turn", ended(e.await(id)))
		}
		require.Equal(t, []string{"tool first", "third"}, script.texts)
		got := strings.Join(e.updates(), "\n")
		require.NotContains(t, got, "added to the running turn")
		require.Less(t, strings.Index(got, "agent: Done."), strings.Index(got, "/compact"))
		require.Less(t, strings.Index(got, "/compact"), strings.Index(got, "Answer to third"))
	})
}

// TestPromptBehindACancelIsNotSteered: it would be thrown away with the turn that
// is being cancelled.
func TestPromptBehindACancelIsNotSteered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told strings.Builder
		e := begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) { told.Write(line) }, new(slow).script(), fakedroid.WithFolding(), fakedroid.WithPace(100*time.Millisecond), fakedroid.WithLateInterrupts()), nil
		})
		require.Nil(t, e.set("follow_up", options.Steer).Error)
		first := e.prompt("stream first")
		time.Sleep(150 * time.Millisecond)
		e.cancel()
		second := e.prompt("second")
		require.Equal(t, "cancelled", ended(e.await(first)))
		require.Equal(t, "end_turn", ended(e.await(second)))
		require.Equal(t, 1, strings.Count(told.String(), `"second"`), "sent once, when it could run")
	})
}

// A steering message that is on its way when droid dies is answered, too.
func TestSteeringOfADroidThatDies(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		deaf := fakedroid.WithAnswer("droid.add_user_message", func(params map[string]any) (any, string) {
			if params["text"] == "second" {
				return fakedroid.NoAnswer{}, ""
			}
			return nil, ""
		})
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			if err := d.Pause(time.Second); err != nil {
				return err
			}
			return d.Die(1, "")
		}), v, deaf))
		first := e.prompt("first")
		time.Sleep(500 * time.Millisecond)
		second := e.steer("second", askBack)
		require.Contains(t, ended(e.await(first)), "-32603")
		require.Contains(t, outcome(e.await(second)), "-32603")
	})
}
