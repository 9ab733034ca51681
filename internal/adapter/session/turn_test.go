package session_test

import (
	"errors"
	"io"
	"strings"
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
