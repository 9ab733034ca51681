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
	"droid-acp/internal/testing/fakedroid"
)

// rewinds calls _droid/rewind with the session's ID and params.
func (e *editor) rewinds(params string) (r session.RewindResult, code int) {
	e.t.Helper()
	answer := e.call("_droid/rewind", fmt.Sprintf(`{"sessionId":%q,%s}`, e.session, params))
	if answer.Error != nil {
		return r, answer.Error.Code
	}
	require.NoError(e.t, json.Unmarshal(answer.Result, &r))
	return r, 0
}

// rewinds makes droids rewind like the real one: to a new session with the earlier conversation. made is its id.
func (f *fleet) rewinds() (made *string) {
	made = new(string)
	f.options = append(f.options, fakedroid.WithAnswer("droid.execute_rewind", func(params map[string]any) (any, string) {
		*made = f.store.Before(params["sessionId"].(string), params["messageId"].(string))
		return fakedroid.Fields{"newSessionId": *made}, ""
	}))
	return made
}

// pointOf is the message by whose id _droid/rewind goes back to before a prompt.
func (e *editor) pointOf(text string) string {
	e.t.Helper()
	var r session.RewindPointsResult
	require.NoError(e.t, json.Unmarshal(e.call("_droid/rewind_points", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Result, &r))
	for _, p := range r.Points {
		if p.Text == text {
			return p.MessageID
		}
	}
	return ""
}

// A program goes back to before a prompt; the thread keeps its id.
func TestRewindMethod(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		f := newFleet(t, v, repeats())
		made := f.rewinds()
		e := begin(t, f.start)
		require.Equal(t, "end_turn", e.run("one"))
		require.Equal(t, "end_turn", e.run("two"))
		first, second := e.pointOf("one"), e.pointOf("two")
		raw := func() string { synctest.Wait(); return strings.Join(f.raw, "\n") }

		var messages session.MessagesResult
		require.NoError(t, json.Unmarshal(e.call("_droid/messages", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Result, &messages))
		agents := ""
		for _, m := range messages.Messages {
			if m.Role == "assistant" {
				agents = m.ID
			}
		}
		for params, code := range map[string]int{
			`"files":"none"`:                                 -32602,
			`"messageId":"no-such","files":"none"`:           -32602,
			fmt.Sprintf(`"messageId":%q`, agents):            -32602,
			fmt.Sprintf(`"messageId":%q,"files":"7"`, first): -32602,
			fmt.Sprintf(`"messageId":%q,"files":7`, first):   -32602,
		} {
			_, got := e.rewinds(params)
			require.Equal(t, code, got, params)
		}
		dry, code := e.rewinds(fmt.Sprintf(`"messageId":%q,"files":"none","dryRun":true`, second))
		require.Zero(t, code)
		require.Empty(t, dry.DroidSessionID)
		require.NotContains(t, raw(), "execute_rewind")

		done, code := e.rewinds(fmt.Sprintf(`"messageId":%q`, second))
		require.Zero(t, code)
		require.Equal(t, *made, done.DroidSessionID)
		require.Equal(t, first, e.pointOf("one"))
		require.Empty(t, e.pointOf("two"))
		require.Contains(t, strings.Join(e.updates(), "\n"), "This thread is back at the point before prompt 2.", "for whoever else shows the session")
		require.Equal(t, "end_turn", e.run("three"))
		require.NotEmpty(t, e.pointOf("three"), "in the same thread")
	})
}

// A rewind during a turn is rejected, or stops the turn first: droid itself would continue the turn in the previous session.
func TestRewindMethodInATurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if p.Text == "work" {
				return d.Pause(time.Hour)
			}
			return d.Say("", "done")
		}))
		f.rewinds()
		e := begin(t, f.start)
		require.Equal(t, "end_turn", e.run("one"))
		point := e.pointOf("one")
		work := e.prompt("work")
		synctest.Wait()
		_, code := e.rewinds(fmt.Sprintf(`"messageId":%q`, point))
		require.Equal(t, -32600, code)
		_, code = e.rewinds(fmt.Sprintf(`"messageId":%q,"dryRun":true,"cancel":true`, point))
		require.Equal(t, -32600, code, "a dry run stops nothing")
		_, running := e.answered(work)
		require.False(t, running)
		done, code := e.rewinds(fmt.Sprintf(`"messageId":%q,"cancel":true`, point))
		require.Zero(t, code)
		require.NotEmpty(t, done.DroidSessionID)
		require.Equal(t, "cancelled", ended(e.await(work)))
		require.Equal(t, "end_turn", e.run("again"))
		require.NotEmpty(t, e.pointOf("again"))
		require.Empty(t, e.pointOf("one"))
	})
}
