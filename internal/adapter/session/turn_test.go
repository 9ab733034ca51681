package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// eachPrompt is a script that plays body for every prompt.
func eachPrompt(body func(d *fakedroid.Droid, p fakedroid.Prompt) error) fakedroid.Script {
	return fakedroid.EachPrompt(body)
}

func says(text string) fakedroid.Script {
	return eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Say("", text) })
}

var touch = fakedroid.Tool{
	ID: "t1", Name: "Execute", Input: fakedroid.Fields{"command": "touch a"}, Confirmation: "exec", Impact: "medium",
	Details: fakedroid.Fields{"fullCommand": "touch a", "impactLevel": "medium"}, Result: "done\n",
}

var create = fakedroid.Tool{
	ID: "t2", Name: "Create", Input: fakedroid.Fields{"file_path": "/workspace/n.txt", "content": "x"}, Confirmation: "create", Impact: "low",
	Details: fakedroid.Fields{"filePath": "/workspace/n.txt", "fileName": "n.txt", "content": "x"}, Result: "ok",
}

func uses(tools ...fakedroid.Tool) fakedroid.Script {
	return eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
		if err := d.Use("", "On it. ", tools...); err != nil {
			return err
		}
		return d.Say("", "Done.")
	})
}

// versions runs a test as both kinds of droid.
func versions(t *testing.T, test func(t *testing.T, option fakedroid.Option)) {
	for _, v := range []fakedroid.Version{fakedroid.V099, fakedroid.V0225} {
		t.Run(string(v), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, fakedroid.WithVersion(v)) })
		})
	}
}

// TestPermissionsFailClosed: droid gets "cancel" for every answer that is no clear choice.
func TestPermissionsFailClosed(t *testing.T) {
	result := func(result string) func(e *editor, id json.RawMessage) {
		return func(e *editor, id json.RawMessage) {
			e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, result))
		}
	}
	for name, act := range map[string]func(e *editor, id json.RawMessage){
		"error":             result(`"error":{"code":-32601,"message":"no such method"}`),
		"cancelled":         result(`"result":{"outcome":{"outcome":"cancelled"}}`),
		"unknown option":    result(`"result":{"outcome":{"outcome":"selected","optionId":"proceed_auto_run_high"}}`),
		"unknown outcome":   result(`"result":{"outcome":{"outcome":"approved","optionId":"proceed_once"}}`),
		"no outcome":        result(`"result":{}`),
		"empty result":      result(`"result":null`),
		"malformed outcome": result(`"result":{"outcome":5}`),
		"no JSON-RPC": func(e *editor, id json.RawMessage) {
			e.send(fmt.Sprintf(`{"jsonrpc":2,"id":%s,"result":{"outcome":{"outcome":"selected","optionId":"proceed_once"}}}`, id))
		},
		"turn cancelled": func(e *editor, _ json.RawMessage) { e.cancel() },
		"editor gone":    func(e *editor, _ json.RawMessage) { _ = e.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				var told strings.Builder
				e := begin(t, func(int) (*droid.Client, error) {
					return tappedDroid(func(line []byte) { told.Write(line) }, uses(touch), v), nil
				})
				e.onAsk = func(id, _ json.RawMessage) bool {
					go act(e, id)
					return true
				}
				id := e.prompt("go")
				if name == "editor gone" {
					synctest.Wait()
					e.close()
				} else {
					e.await(id)
				}
				require.Contains(t, told.String(), `"selectedOption":"cancel"`)
				require.Equal(t, 1, strings.Count(told.String(), "selectedOption"))
			})
		})
	}
}

var plan = fakedroid.Tool{
	ID: "t3", Name: "ExitSpecMode", Input: fakedroid.Fields{"plan": "# Do it\n\n1. now", "title": "Do it"},
	Confirmation: "exit_spec_mode", Details: fakedroid.Fields{"plan": "# Do it\n\n1. now", "title": "Do it"}, Result: `{"approved":true}`,
}

// TestCancelRightBehindThePrompt is the race that the SDK's own agent side
// loses, and droid before 0.215 with it (quirk 5).
func TestCancelRightBehindThePrompt(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			return d.Silence()
		}), v))
		for range 20 {
			id := e.prompt("go")
			e.cancel()
			require.Equal(t, "cancelled", ended(e.await(id)))
		}
	})
}

// TestDroidThatDoesNotStopIsKilled: a droid that ignores interrupts, one that does not even confirm the prompt, as when a signal has
// stopped it, and one with a second turn in addition, which no interrupt reaches (quirks 25 and 31). The prompt ends all the same, and the
// next one gets a new process.
func TestDroidThatDoesNotStopIsKilled(t *testing.T) {
	ignores := eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
		for {
			if err := d.Silence(); errors.Is(err, io.EOF) {
				return err
			}
		}
	})
	silent := eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Silence() })
	deaf := func(d *fakedroid.Droid) error {
		d.Trace("a")
		return eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			_ = d.Pause(500 * time.Millisecond) // or until the interrupt
			d.Trace("b")
			if err := d.Notify("droid_working_state_changed", fakedroid.Fields{"newState": "idle"}); err != nil {
				return err
			}
			d.Trace("a")
			for range 400 { // goes on for 20 s, whatever comes
				_ = d.Say("", "word ")
			}
			return nil
		})(d)
	}
	for name, tc := range map[string]struct {
		script        fakedroid.Script
		v             fakedroid.Version
		prompts       []string
		after, within time.Duration
	}{
		"wedged":                    {ignores, fakedroid.V099, []string{"go"}, 0, turns.Patience + 5*time.Second},
		"mute":                      {silent, fakedroid.V0225, []string{"mute"}, 0, turns.Patience + 5*time.Second},
		"mute, of a follow-up":      {silent, fakedroid.V0225, []string{"go", "mute"}, 0, turns.Patience + 5*time.Second},
		"deaf, before the idle":     {deaf, fakedroid.V099, []string{"go"}, 0, time.Second},
		"deaf, as it has been idle": {deaf, fakedroid.V099, []string{"go"}, time.Second, time.Second},
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			store, wake := fakedroid.WithSessions(new(fakedroid.Sessions)), make(chan struct{})
			defer close(wake)
			mute := fakedroid.WithAnswer("droid.add_user_message", func(params map[string]any) (any, string) {
				if params["text"] == "mute" {
					<-wake
				}
				return nil, ""
			})
			e := begin(t, func(n int) (*droid.Client, error) {
				if n > 1 {
					return fakeDroid(says("I am back"), store), nil
				}
				return fakeDroid(tc.script, fakedroid.WithVersion(tc.v), fakedroid.WithPace(50*time.Millisecond), mute, store), nil
			})
			require.Nil(t, e.set("follow_up", options.Steer).Error)
			var ids []string
			for _, text := range tc.prompts {
				ids = append(ids, e.prompt(text))
			}
			synctest.Wait()
			time.Sleep(tc.after)
			asked := time.Now()
			e.cancel()
			for _, id := range ids {
				require.Equal(t, "cancelled", ended(e.await(id)))
			}
			require.Less(t, time.Since(asked), tc.within)
			require.Equal(t, "end_turn", e.run("still there?"))
			require.Contains(t, e.updates(), "agent: I am back")
		}))
	}
}

// TestQuirk28_SilenceIsNoEnd: a model may be silent for minutes before its first word. After it has said something, the next silence is
// measured from its beginning and reported in another message.
func TestQuirk28_SilenceIsNoEnd(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			return inTurn(func() error { return d.Pause(20 * time.Minute) }, func() error { return d.Say("", "at last ") },
				func() error { return d.Pause(3 * time.Minute) }, func() error { return d.Say("", "more") })
		}), v))
		id := e.prompt("think hard")
		time.Sleep(19 * time.Minute)
		_, ok := e.answered(id)
		require.False(t, ok)
		time.Sleep(4 * time.Minute)
		require.Equal(t, "end_turn", ended(e.await(id)))
		const silent = "thought: droid waits for the model, which has said nothing for 1 min; 2 min"
		require.Equal(t, []string{silent + "; 4 min; 8 min; 16 min", "agent: at last ", silent, "agent: \n\nmore"}, e.of(e.session))
	})
}

// A droid that does not take a prompt is silent, too, from when the prompt was sent. A cancel ends the prompt.
func TestPromptThatIsNotTaken(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(says("hi"), v, answering("add_user_message", fakedroid.NoAnswer{})))
		time.Sleep(10 * time.Minute)
		id := e.prompt("hello")
		time.Sleep(time.Minute - time.Second)
		require.Empty(t, e.of(e.session))
		time.Sleep(4 * time.Minute)
		require.Equal(t, []string{"thought: droid has not accepted your prompt, which you can cancel, for 1 min; 2 min; 4 min"}, e.of(e.session))
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
	})
}

// A droid that takes a prompt late is waited for from then on.
func TestPromptThatIsTakenLate(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		late := fakedroid.WithAnswer("droid.add_user_message", func(map[string]any) (any, string) {
			return fakedroid.Later{After: 90 * time.Second, Then: func(map[string]any) (any, string) { return nil, "" }}, ""
		})
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Pause(time.Hour) }), v, late))
		e.prompt("hello")
		time.Sleep(149 * time.Second)
		require.Equal(t, []string{"thought: droid has not accepted your prompt, which you can cancel, for 1 min"}, e.of(e.session))
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"thought: droid has not accepted your prompt, which you can cancel, for 1 min\n\ndroid waits for the model, which has said nothing for 1 min"}, e.of(e.session))
		e.cancel()
	})
}

// TestQuirk17_ModeDoesNotAnswerAPermission: the user still has the request in
// front of them after a change of mode.
func TestQuirk17_ModeDoesNotAnswerAPermission(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(uses(touch), v))
		e.ask = nil
		id := e.prompt("go")
		synctest.Wait()
		require.Nil(t, e.call("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"auto-high"}`, e.session)).Error)
		_, ok := e.answered(id)
		require.False(t, ok)
		require.NotContains(t, e.updates(), "withdrawn")
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
	})
}

// TestCrashMidTurn: the prompt ends with the cause and droid's last words, and
// the next prompt finds a droid that has loaded the session.
func TestCrashMidTurn(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		store := fakedroid.WithSessions(new(fakedroid.Sessions))
		e := begin(t, func(n int) (*droid.Client, error) {
			if n > 1 {
				return fakeDroid(uses(touch), v, store), nil
			}
			return fakeDroid(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
				if err := d.Use("", "half a sen", touch); err != nil {
					return err
				}
				return d.Die(1, "")
			}), v, store), nil
		})
		require.Contains(t, e.run("go"), "-32603 ")
		require.Equal(t, "end_turn", e.run("again"))
		got := e.updates()
		require.Contains(t, got, "agent: \n\nDone.")
		require.Contains(t, got, "thought: droid had ended and was started again; the session continues.")
		require.Contains(t, got, "tool_call t1 pending touch a")
		require.Contains(t, got, "tool_call t1~2 pending touch a", "the new process uses the same id for another call")
	})
}

// TestCancelWhilePlanIsTold: the user approves one of several plans and cancels
// before droid has taken their pick. The approval must not follow the cancel.
func TestCancelWhilePlanIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plans := plan
		plans.Details = fakedroid.Fields{"plan": "A or B", "optionNames": []string{"Plan A", "Plan B"}}
		var told strings.Builder
		var cancelled atomic.Bool
		var e *editor
		e = begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) {
				told.Write(line)
				if strings.Contains(string(line), "I choose") {
					cancelled.Store(true)
					e.cancel()
					time.Sleep(time.Millisecond) // of the bubble: the cancel has its effect first
				}
			}, uses(plans), fakedroid.WithVersion(fakedroid.V099), fakedroid.WithMode("spec")), nil
		})
		e.ask = func(p permission) string {
			switch {
			case cancelled.Load():
				return "cancel" // of a turn that droid may begin with the message it received
			case strings.HasPrefix(p.Options[0].OptionID, "plan_"):
				return "plan_0"
			}
			return "proceed_auto_run_high"
		}
		require.Equal(t, "cancelled", e.run("plan"))
		require.Contains(t, told.String(), `"selectedOption":"cancel"`)
		require.NotContains(t, told.String(), `"selectedOption":"proceed`)
	})
}

// The message that names a plan does not go to droid behind the interrupt of a cancel: it would begin a turn. Before 0.215 it waits for a
// change of the mode that droid has not answered.
func TestCancelBeforePlanIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plans := plan
		plans.Details = fakedroid.Fields{"plan": "A or B", "optionNames": []string{"Plan A", "Plan B"}}
		told := new(toldLines)
		var e *editor
		cancelled := make(chan struct{})
		e = begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) {
				told.add(line)
				if strings.Contains(string(line), "update_session_settings") {
					time.Sleep(time.Second) // droid is slow to read the change
					e.cancel()
					close(cancelled)
					time.Sleep(time.Second)
				}
			}, uses(plans), fakedroid.WithVersion(fakedroid.V099), fakedroid.WithMode("spec")), nil
		})
		e.ask = func(p permission) string {
			if strings.HasPrefix(p.Options[0].OptionID, "plan_") {
				return "plan_0"
			}
			select {
			case <-cancelled:
				return "cancel" // of a turn that nobody has asked for
			default:
			}
			e.request("session/set_mode", e.inSession(`,"modeId":"normal"`))
			time.Sleep(100 * time.Millisecond)
			return "proceed_auto_run_high"
		}
		require.Equal(t, "cancelled", e.run("plan"))
		time.Sleep(10 * time.Second)
		require.Positive(t, told.place(1, "interrupt_session"))
		require.Equal(t, -1, told.place(1, "I choose"), "%v", told.lines)
	})
}

// Unknown messages of droid have no effect, and the status counts them by name.
func TestNonsenseIsSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(fakedroid.Nonsense()))
		for _, prompt := range []string{"go", "huge line", "idle first"} {
			require.Equal(t, "end_turn", e.run(prompt), prompt)
		}
		require.Equal(t, 3, strings.Count(strings.Join(e.updates(), "\n"), fakedroid.NonsenseText), "what it said in earnest is there once a turn")
		require.Regexp(t, `- droid said what droid-acp does not know: .*event \w+ \(\d+\)`, e.answerTo("/status"))
	})
}
