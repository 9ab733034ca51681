package session_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"droid-acp/internal/adapter/options"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/workspace/trust"
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

// A message that is taken back before droid is given it does not go there.
func TestSteeringIsTakenBack(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		script, sent := new(slow), 0
		e := begin(t, playing(script.script(), v, fakedroid.WithPace(100*time.Millisecond), fakedroid.WithAnswer("droid.add_user_message", func(map[string]any) (any, string) {
			if sent++; sent == 2 {
				return fakedroid.Later{After: 200 * time.Millisecond, Then: func(map[string]any) (any, string) { return nil, "no room" }}, ""
			}
			return nil, ""
		})))
		first := e.prompt("stream first")
		time.Sleep(150 * time.Millisecond)
		second, third := e.steer("second", askBack), e.steer("third", askBack)
		time.Sleep(100 * time.Millisecond)
		e.notify("$/cancel_request", `{"requestId":`+second+`}`)
		e.notify("$/cancel_request", `{"requestId":`+third+`}`)
		e.settle()
		_, over := e.answered(second)
		require.False(t, over, "it is on its way")
		answer, over := e.answered(third)
		require.True(t, over)
		require.Equal(t, -32800, answer.Error.Code)
		require.Contains(t, outcome(e.await(second)), "no room")
		require.Equal(t, "end_turn", ended(e.await(first)))
		require.Equal(t, 2, sent)
	})
}

// A message that droid does not accept is an error, and the prompt continues.
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

// A cancel does not wait for the look before a steered prompt, whose disk may hang.
func TestCancelDuringTheLookOfASteeredPrompt(t *testing.T) {
	for _, which := range []string{"all", "the running one", "the steered one when it runs"} {
		t.Run(which, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				told := new(toldLines)
				script := eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
					if p.Text == "A" {
						if err := d.Pause(2 * time.Second); err != nil {
							return err
						}
					}
					return d.Say("", "re: "+p.Text)
				})
				e := connect(t, func(int) (*droid.Client, error) { return tappedDroid(told.add, script, v), nil })
				home := t.TempDir()
				e.agent.Config.Trust = trust.New(trust.Options{Home: home, File: filepath.Join(home, "trust.json")})
				e.beginSession()
				require.Nil(t, e.set("follow_up", options.Steer).Error)
				a := e.prompt("A")
				e.settle()
				e.hanging.begin("Trust.Look")
				b := e.prompt("B")
				e.settle()
				require.True(t, e.hanging.wasReached())
				began := time.Now()
				switch which {
				case "all":
					e.cancel()
					require.Equal(t, "cancelled", ended(e.await(b)))
					require.Equal(t, "cancelled", ended(e.await(a)))
				case "the running one":
					e.notify("$/cancel_request", `{"requestId":`+a+`}`)
					require.Equal(t, "cancelled", ended(e.await(a)))
				default:
					require.Equal(t, "end_turn", ended(e.await(a)))
					began = time.Now()
					e.notify("$/cancel_request", `{"requestId":`+b+`}`)
					require.Equal(t, "cancelled", ended(e.await(b)))
				}
				require.Less(t, time.Since(began), time.Second)
				e.hanging.begin("")
				e.hanging.revive()
				if which == "the running one" {
					require.Equal(t, "end_turn", ended(e.await(b)))
					require.Equal(t, -1, told.place(2, `"text":"B"`))
				} else {
					e.settle()
					require.Equal(t, -1, told.place(1, `"text":"B"`))
				}
				require.Equal(t, "end_turn", e.run("more"))
			})
		})
	}
}
