package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// counts is a schema.
const counts = `{"type":"object","properties":{"n":{"type":"integer"}}}`

// promptIn sends a prompt whose answer is to have a form.
func (e *editor) promptIn(text, format string) string {
	return e.request("session/prompt", strings.TrimSuffix(e.promptParams(text), "}")+`,"_meta":{"other":1,"droid-acp":{"outputFormat":`+format+`}}}`)
}

const countsFormat = `{"type":"json_schema","schema":` + counts + `}`

// TestStructuredOutputRefused checks that an invalid form, or one that no model can fill in, is rejected before any request.
func TestStructuredOutputRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		for _, format := range []string{`7`, `{}`, `{"type":"json_schema"}`, `{"type":"text","schema":{}}`, `{"type":"json_schema","schema":"x"}`} {
			answer := e.await(e.promptIn("count", format))
			require.Equal(t, `-32602 Invalid params: _meta.droid-acp.outputFormat must be {"type": "json_schema", "schema": {…}}`, ended(answer), format)
		}
		require.Contains(t, ended(e.await(e.promptIn("/status", countsFormat))), "-32602 Invalid params: /status is answered by this agent, and no model")
		require.Equal(t, "end_turn", ended(e.await(e.promptIn("count", "null"))), "it wants none")
		require.Equal(t, "end_turn", e.run("hello"))
	})
	synctest.Test(t, func(t *testing.T) {
		e := asProgram(t, playing(says("hi"), fakedroid.WithVersion(fakedroid.V099)))
		require.Contains(t, ended(e.await(e.promptIn("count", countsFormat))), "-32603 droid_too_old: This droid (protocol 1.15.0) cannot have the model answer in the form")
		require.Equal(t, "end_turn", e.run("hello"))
	})
}

// TestStructuredOutputIsAlone checks that a prompt with a form shares its turn with no other: it is not steered into one, and nothing is
// steered into its turn. A steering message comes after it, and its answer is not the output.
func TestStructuredOutputIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := new(slow)
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			script.saw(p.Text)
			if err := d.Say("", "one two three four five"); err != nil || p.Schema == "" {
				return err
			}
			return d.Structured(fakedroid.Fields{"n": 4})
		}), fakedroid.WithPace(100*time.Millisecond), fakedroid.WithFolding()))
		require.Nil(t, e.set("follow_up", options.Steer).Error)
		first := e.prompt("first")
		time.Sleep(150 * time.Millisecond)
		second := e.promptIn("second", countsFormat)
		time.Sleep(700 * time.Millisecond) // the second runs
		third := e.prompt("third")
		steered := e.steer("more", "")
		require.Equal(t, "end_turn", ended(e.await(first)))
		answer := e.await(second)
		require.Contains(t, string(answer.Result), `"structuredOutput":{"n":4}`)
		require.JSONEq(t, `{"outcome":"injected"}`, outcome(e.await(steered)))
		require.Equal(t, "end_turn", ended(e.await(third)))
		require.Equal(t, []string{"first", "second", "more", "third"}, script.texts)
	})
}

// A cancelled prompt that droid has begun with before it answered that it gave it back does not end before droid has stopped: what droid sent
// before its answer counts first, also where the session is busy until the answer has come.
func TestSteeredPromptThatDroidHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := new(toldLines)
		keeps := fakedroid.WithAnswer("droid.resolve_queued_user_message", func(map[string]any) (any, string) {
			return fakedroid.Later{After: 1200 * time.Millisecond, Then: func(map[string]any) (any, string) { return fakedroid.Fields{}, "" }}, ""
		})
		e := begin(t, func(int) (*droid.Client, error) {
			return tappedDroid(told.add, new(slow).script(), fakedroid.WithVersion(fakedroid.V0225), fakedroid.WithPace(100*time.Millisecond), keeps), nil
		})
		require.Nil(t, e.set("follow_up", options.Steer).Error)
		first := e.prompt("stream first")
		time.Sleep(150 * time.Millisecond)
		second := e.prompt("stream second")
		synctest.Wait()
		e.notify("$/cancel_request", fmt.Sprintf(`{"requestId":%s}`, second))
		time.Sleep(600 * time.Millisecond)
		require.Equal(t, 1, told.place(1, "resolve_queued")-told.place(2, "add_user_message"))
		e.inside(func(*session.Session) { time.Sleep(800 * time.Millisecond) }) // droid begins with the second, and answers
		require.Equal(t, "end_turn", ended(e.await(first)))
		require.Equal(t, "cancelled", ended(e.await(second)))
		require.Positive(t, told.place(1, "interrupt_session"))
	})
}

// TestSteeredPromptIsTakenBack checks that a prompt that is cancelled before droid has begun with it is answered at once, and that the
// model never gets it; the running one continues. One that droid has added to the turn ends with it.
func TestSteeredPromptIsTakenBack(t *testing.T) {
	for name, lies := range map[string]fakedroid.Option{
		"taken back": func(*fakedroid.Droid) {},
		"droid keeps it and says otherwise": fakedroid.WithAnswer("droid.resolve_queued_user_message", func(map[string]any) (any, string) {
			return fakedroid.Later{After: 5 * time.Second, Then: func(map[string]any) (any, string) { return fakedroid.Fields{}, "" }}, ""
		}),
		"droid refuses": fakedroid.WithAnswer("droid.resolve_queued_user_message", func(map[string]any) (any, string) { return nil, "not now" }),
	} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				script := new(slow)
				e := begin(t, playing(script.script(), v, lies, fakedroid.WithPace(100*time.Millisecond)))
				require.Nil(t, e.set("follow_up", options.Steer).Error)
				first := e.prompt("stream first")
				time.Sleep(150 * time.Millisecond)
				second, third := e.prompt("second"), e.prompt("third")
				synctest.Wait()
				began := time.Now()
				e.notify("$/cancel_request", fmt.Sprintf(`{"requestId":%s}`, second))
				require.Equal(t, "cancelled", ended(e.await(second)))
				back := name == "taken back" && !strings.HasSuffix(t.Name(), string(fakedroid.V099))
				require.Equal(t, back, time.Since(began) < 50*time.Millisecond, "%s", time.Since(began))
				require.Equal(t, "end_turn", ended(e.await(first)))
				require.Equal(t, "end_turn", ended(e.await(third)))
				require.Equal(t, "end_turn", e.run("fourth"))
				if back {
					require.Equal(t, []string{"stream first", "third", "fourth"}, script.texts)
				}
			})
		})
	}
}
