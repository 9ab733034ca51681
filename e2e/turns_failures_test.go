//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
)

// failureLimit is more than the 0.99 takes to give up (4 to 20 s).
const failureLimit = 60 * time.Second

// loud checks that a turn did not end as if it had succeeded.
func loud(t *testing.T, end ending, words ...string) {
	t.Helper()
	said := end.text()
	if end.Err != nil {
		said += " " + end.Err.Error()
	}
	t.Logf("the turn ends with %q, it says %q, error %v", end.Stop, end.text(), end.Err)
	require.NotEmpty(t, said, "the turn ends silently with %s", end.Stop)
	for _, w := range words {
		require.Contains(t, said, w)
	}
}

func TestModelIsNotThere(t *testing.T) {
	t.Parallel()
	for _, version := range droidsOf() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			url, err := modelserver.RefusedURL()
			require.NoError(t, err)
			h := newHome(t, version, url)
			loud(t, startAgent(t, h).open(h).prompt("go").end(failureLimit))
		})
	}
}

func TestModelBreaksOff(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("go", modelserver.Step{Text: "Half of a", Break: true})
		loud(t, startAgent(t, h).open(h).prompt("go").end(failureLimit))
	})
}

// A model that breaks off once and answers droid's second call makes a normal turn; the answer is sent once, and the text before the break
// is marked as void.
func TestModelBreaksOffOnce(t *testing.T) {
	eachProvider(t, func(t *testing.T, model *modelserver.Server, h home, _ modelserver.Provider) {
		const whole = "The whole answer, not a half."
		model.On("go", modelserver.Step{Thinking: "Hm. ", Text: "Half of an ", Delay: 50 * time.Millisecond, Break: true, Times: 1}, modelserver.Step{Thinking: "Once more. ", Text: whole})
		end := startAgent(t, h).open(h).prompt("go").end(failureLimit)
		require.Nil(t, end.Err)
		require.Equal(t, "end_turn", end.Stop)
		seen := scene(end.Updates)
		t.Logf("%q", seen)
		answer := ""
		for _, u := range end.chunks() {
			if !u.isNotice() { // one quotes how the answer begins
				answer += u.text()
			}
		}
		require.Equal(t, 1, strings.Count(answer, whole))
		require.True(t, strings.HasSuffix(answer, whole))
		if answer != whole {
			require.Contains(t, strings.Join(seen, "\n"), "broke off")
		}
	})
}

// The agent's own notices are for the user: the model's next request has the prompt and the answers, and nothing of them.
func TestNoticesStayOutOfTheModelsRequests(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		const back, whole = "The model is back.", "A whole answer, not a half."
		model.On("down", modelserver.Step{Status: 500, Times: 2}, modelserver.Step{Text: back})
		model.On("half", modelserver.Step{Text: "Half of an ", Delay: 50 * time.Millisecond, Break: true, Times: 1}, modelserver.Step{Text: whole})
		model.On("nothing", modelserver.Step{})
		model.On("and now", modelserver.Step{Text: "Now."})
		c := startAgent(t, h)
		s := c.open(h)
		for _, prompt := range []string{"down", "half", "nothing", "/compact", "and now"} {
			s.prompt(prompt).end(failureLimit)
		}
		var notices []string
		c.mu.Lock()
		for _, l := range c.lines {
			if u, ok := asUpdate(l); ok && u.isNotice() {
				notices = append(notices, strings.TrimSpace(u.text()))
			}
		}
		c.mu.Unlock()
		t.Logf("%q", notices)
		require.GreaterOrEqual(t, len(notices), 3)
		told := toldModel(model, "and now")
		for _, notice := range notices {
			words, _, _ := strings.Cut(notice, "\n")
			quoted, err := json.Marshal(words[:min(40, len(words))])
			require.NoError(t, err)
			require.NotContains(t, told, strings.Trim(string(quoted), `"`))
		}
		require.Contains(t, told, "and now")
		if !h.does(t, stream.CompactsWithoutLogin) { // it cannot compact without a login, so the conversation stands there
			for _, said := range []string{"down", back, "half", whole} {
				require.Contains(t, told, said)
			}
		}
	})
}

// Without a login and a custom model droid starts, and the first turn fails; loaded again it reports that in a message.
func TestNoLogin(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		require.NoError(t, os.Remove(filepath.Join(h.dir, ".factory", "settings.json")))
		c := startAgent(t, h)
		s := c.open(h)
		end := s.prompt("go").end(failureLimit)
		require.NotNil(t, end.Err)
		require.Equal(t, codeAuth, end.Err.Code)
		require.Contains(t, end.Err.Error(), "droid-acp login")
		c.end(h)

		c = startAgent(t, h).initialize()
		from := c.seen()
		c.mustCall("session/load", h.params(s.id), nil)
		var told []string
		for _, u := range c.updatesFrom(from) {
			if u.isNotice() {
				told = append(told, strings.TrimSpace(u.text()))
			}
		}
		require.Len(t, told, 1, "the loaded prompt was not answered, and says why")
		require.Regexp(t, "log ?in", told[0]) // with --keep in the words of the error
	})
}

// providers are the custom models' APIs for which droid behaves differently.
var providers = []modelserver.Provider{modelserver.ChatCompletions, modelserver.Responses}

// eachProvider runs a test with both droids and a model of each provider.
func eachProvider(t *testing.T, test func(t *testing.T, model *modelserver.Server, h home, provider modelserver.Provider)) {
	t.Parallel()
	for _, p := range providers {
		t.Run(string(p), func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				require.NoError(t, modelserver.WriteSettingsFor(h.dir, modelserver.Model{URL: model.URL(), Provider: p}))
				test(t, model, h, p)
			})
		})
	}
}

// scene returns updates as the user sees them, in order: a line for each run of chunks of one message, and one for each tool's first and
// last appearance.
func scene(updates []update) []string {
	var out []string
	last := ""
	for _, u := range updates {
		if strings.HasPrefix(u.ToolCallID, "ask-") {
			continue // the entry of a request for several tools, which no history has
		}
		switch u.SessionUpdate {
		case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk":
			who := strings.TrimSuffix(strings.TrimPrefix(u.SessionUpdate, "agent_"), "_chunk")
			if key := who + u.MessageID; key == last {
				out[len(out)-1] += u.text()
			} else {
				out, last = append(out, who+": "+strings.TrimLeft(u.text(), "\n")), key // apart from the message before
			}
		case "tool_call":
			out, last = append(out, "tool: "+u.ToolCallID), ""
		case "tool_call_update":
			if u.Status == "completed" || u.Status == "failed" {
				out, last = append(out, u.Status+": "+u.ToolCallID), ""
			}
		}
	}
	return out
}

// updatesFrom returns the updates from line number from on.
func (c *client) updatesFrom(from int) (out []update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines[from:] {
		if u, ok := asUpdate(l); ok {
			out = append(out, u)
		}
	}
	return out
}

// What a model thinks, writes and does reaches the client once and in order, with any API; and again when the session is loaded.
func TestProviders(t *testing.T) {
	eachProvider(t, func(t *testing.T, model *modelserver.Server, h home, provider modelserver.Provider) {
		model.On("allow", modelserver.Step{Thinking: "I think first. ", Text: "I touch it. ", Tools: []modelserver.ToolCall{execute("a", "touch allowed")}},
			modelserver.Step{Thinking: "I think again. ", Text: "It is there."})
		model.On("both", modelserver.Step{Thinking: "Two at once. ", Tools: []modelserver.ToolCall{execute("b", "touch one"), execute("c", "touch two")}},
			modelserver.Step{Text: "Both are there."})
		model.On("refuse", modelserver.Step{Thinking: "I dare. ", Text: "I touch it. ", Tools: []modelserver.ToolCall{execute("d", "touch refused")}},
			modelserver.Step{Text: "Not reached."})
		model.On("key", modelserver.Step{Status: 401})
		model.On("long", modelserver.Step{Thinking: "A story. ", Text: strings.Repeat("word ", 2000), Delay: 25 * time.Millisecond})
		model.On("still", modelserver.Step{Text: "Still here."})
		c := startAgent(t, h).onPermission(allowOnce)
		s := c.open(h)
		prompt := func(text string) []string {
			end := s.prompt(text).done()
			return scene(end.Updates)
		}

		allowed := []string{"thought: I think first. ", "message: I touch it. ", "tool: a", "completed: a", "thought: I think again. ", "message: It is there."}
		require.Equal(t, allowed, prompt("allow it"))
		require.FileExists(t, filepath.Join(h.work, "allowed"))
		both := []string{"thought: Two at once. ", "tool: b", "tool: c", "completed: b", "completed: c", "message: Both are there."}
		require.Equal(t, both, prompt("both of them"))
		c.onPermission(rejectOnce)
		refused := []string{"thought: I dare. ", "message: I touch it. ", "tool: d", "failed: d"}
		require.Equal(t, refused, prompt("refuse it"))
		require.NoFileExists(t, filepath.Join(h.work, "refused"))

		end := s.prompt("the key is wrong").end(failureLimit)
		require.NotNil(t, end.Err)
		require.Contains(t, end.Err.Message, "401")
		require.Contains(t, end.Err.Message, "401 scripted 401", "the provider's words, without the JSON around them")
		require.Contains(t, end.Err.Error(), "apiKey", "the remedy")

		turn := s.prompt("a long story")
		turn.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
		turn.cancelled()
		s.nextPromptWorks()
		c.end(h)
		c = startAgent(t, h).initialize()
		from := c.seen()
		c.mustCall("session/load", h.params(s.id), nil)
		var want []string
		for _, turn := range [][]string{{"user_message: allow it"}, allowed, {"user_message: both of them"}, both, {"user_message: refuse it"}, refused} {
			want = append(want, turn...)
		}
		replayed := scene(c.updatesFrom(from))
		require.Equal(t, want, replayed[:min(len(want), len(replayed))])
		story := "user_message: a long story"
		if h.kept { // which shows what was said until the cancel
			story = "message: (word )+"
		}
		replayed = replayed[len(replayed)-3:]
		require.Regexp(t, "^"+story+"$", replayed[0])
		require.Equal(t, []string{"user_message: still there?", "message: Still here."}, replayed[1:])
		session{c, s.id}.nextPromptWorks()
		if last := lastRequest(model); provider != modelserver.ChatCompletions {
			require.Contains(t, string(last.Body), modelserver.Signature, "the provider gets its thinking back")
			require.Contains(t, string(last.Body), "I think again.")
		}
	})
}
