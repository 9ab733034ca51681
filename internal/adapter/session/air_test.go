package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/testing/fakedroid"
)

const asAir = `{"elicitation":{"form":{}},"_meta":{"jetbrains":{"air":{"version":2,"capabilities":["sessionFailure","loadReplayEnd","goal"]}}}}`

// failuresOf returns the failures that were sent for a session, in order.
func (e *editor) failuresOf() (all []protocol.SessionFailure) {
	for _, m := range e.received() {
		var p struct {
			Update protocol.SessionMetaUpdate
		}
		if m.Method == "session/update" && strings.Contains(string(m.Params), `"sessionFailure"`) {
			require.NoError(e.t, json.Unmarshal(m.Params, &p))
			all = append(all, *p.Update.Meta.JetBrains.Air.SessionFailure)
		}
	}
	return all
}

// Air receives the reason why a turn failed before the response, and what delays a turn; each report of a turn replaces the one before.
func TestFailuresForAir(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := beginNamed(t, "air", asAir, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			switch p.Text {
			case "retry":
				for n := range 2 {
					if err := d.Notify("llm_retry", fakedroid.Fields{"attempt": n + 1, "reason": "rate_limited"}); err != nil {
						return err
					}
				}
				return d.Fail("model_rate_limited", "429 too many requests", "Wait.")
			case "die":
				return d.Die(1, "out of memory")
			}
			return d.Fail("model_usage_exhausted", "402 no credits", "Add credits.")
		}), fakedroid.WithVersion(fakedroid.V0225)))
		require.Contains(t, e.run("one"), "-32603", "the response is as for all")
		first := e.failuresOf()
		require.Len(t, first, 1)
		require.Equal(t, []any{"limit", "error", "model_usage_exhausted", 1, []string{}}, []any{first[0].Category, first[0].Severity, first[0].Reason, first[0].Revision, first[0].Actions})
		require.True(t, strings.HasSuffix(first[0].ID, ":error"))
		received := e.received()
		require.NotContains(t, received[len(received)-1].Raw, "sessionFailure", "the response comes last")

		e.run("retry")
		retried := e.failuresOf()[1:]
		require.Len(t, retried, 3)
		for i, f := range retried {
			require.Equal(t, retried[0].ID, f.ID)
			require.Equal(t, i+1, f.Revision)
			require.Equal(t, "limit", f.Category)
		}
		require.NotEqual(t, first[0].ID, retried[0].ID)
		require.Equal(t, []string{"warning", "warning", "error"}, []string{retried[0].Severity, retried[1].Severity, retried[2].Severity})
		require.Empty(t, retried[0].Actions)
		require.Equal(t, []string{"retry"}, retried[2].Actions)

		e.run("die")
		last := e.failuresOf()[4]
		require.Equal(t, "connection", last.Category)
		require.Equal(t, []string{"retry", "new_session"}, last.Actions)
	})
}

// The replay of a load ends with a mark, after which only the response follows; other ways to open a session have none.
func TestReplayEndForAir(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		e := beginNamed(t, "air", asAir, f.start)
		require.Equal(t, "end_turn", e.run("one"))
		require.Nil(t, e.call("session/resume", sessionParamsOf(e.session)).Error)
		synctest.Wait()
		for _, m := range e.received() {
			require.NotContains(t, m.Raw, `"loadReplayEnd":true`)
		}
		seen := len(e.received())
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
		since := e.received()[seen:]
		at := 0
		for i, m := range since {
			if strings.Contains(m.Raw, `"_meta":{"jetbrains":{"air":{"version":1,"loadReplayEnd":true}}}`) {
				at = i
			}
		}
		require.Greater(t, at, 1)
		require.NotEmpty(t, since[at+1].Result, "the response is next")
	})
}

// Only Air receives its keys of modes, permissions and forms.
func TestKeysForAir(t *testing.T) {
	for client, capabilities := range map[string]string{"air": asAir, "zed": `{"elicitation":{"form":{}}}`} {
		bubble(t, func(t *testing.T) {
			isAir := client == "air"
			e := open(t, playing(asksAndUses(), fakedroid.WithVersion(fakedroid.V0225)))
			answer := e.call("initialize", fmt.Sprintf(`{"protocolVersion":1,"clientCapabilities":%s,"clientInfo":{"name":%q,"version":"1"}}`, capabilities, client))
			require.Equal(t, isAir, strings.Contains(string(answer.Result), `"jetbrains":{"air":{"capabilities":["sessionFailure","loadReplayEnd"],"version":1}}`))
			made := e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)
			e.session = e.sessionOf(made)
			for _, kind := range []string{"standard", "plan", "auto_review", "full_access"} {
				require.Equal(t, isAir, strings.Contains(string(made.Result), `"kind":"`+kind+`"`))
			}
			e.onForm = func(protocol.ElicitationParams) string { return `{"action":"accept","content":{"question_01":"Red"}}` }
			e.run("go")
			var all strings.Builder
			for _, m := range e.received() {
				all.WriteString(m.Raw)
			}
			require.Equal(t, isAir, strings.Contains(all.String(), `"permission":{"version":1,"title":"`))
			require.Equal(t, isAir, strings.Contains(all.String(), `"customAnswer":{"questionId":"question_01","isCustomAnswer":true}`))
			require.Contains(t, all.String(), `"_askUserQuestionCustomAnswer":{"questionId":"question_01","isCustomAnswer":true}`, "the older form")
			require.Equal(t, isAir, strings.Contains(all.String(), "jetbrains"))
		})
	}
}

// asksAndUses is a droid that asks a question and uses a tool that needs a permission.
func asksAndUses() fakedroid.Script {
	return eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
		if _, err := d.AskUser("", fakedroid.Question{Topic: "Color", Question: "Which?", Options: []string{"Red", "Blue"}}); err != nil {
			return err
		}
		if err := d.Use("", "", touch); err != nil {
			return err
		}
		return d.Say("", "done")
	})
}
