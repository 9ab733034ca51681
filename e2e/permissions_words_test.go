//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// refuseWithWords selects the option with which the user gives a reason.
func refuseWithWords(p permission) string {
	for _, o := range p.Options {
		if o.Name == "No, and say why" {
			return o.OptionID
		}
	}
	return ""
}

// saying fills the form with a reason, numbered.
func saying(c *client, reason string) {
	asked := 0
	c.onForm(func(json.RawMessage) string {
		asked++
		return fmt.Sprintf(`{"action":"accept","content":{"why":"%s %d"}}`, reason, asked)
	})
}

// seenBehind checks the model's request with these words: they are the last user message, directly after the refusal.
func seenBehind(t *testing.T, model *modelserver.Server, words string) {
	t.Helper()
	for _, r := range model.Requests() {
		if r.Side || len(r.Messages) < 2 {
			continue
		}
		last := r.Messages[len(r.Messages)-1]
		if last.Role != "user" || !strings.Contains(last.Text(), words) {
			continue
		}
		at := len(r.Messages) - 2
		if strings.Contains(r.Messages[at].Text(), "<system-reminder>") {
			at-- // what droid adds in spec mode (0.225)
		}
		before := r.Messages[at]
		require.Equal(t, "tool", before.Role)
		require.Contains(t, strings.ToLower(before.Text()), "error: ", "the refusal")
		return
	}
	require.Fail(t, "the model did not get the words")
}

// userTexts returns the user messages among the updates.
func (e ending) userTexts() (texts []string) {
	for _, u := range e.Updates {
		if u.SessionUpdate == "user_message_chunk" {
			texts = append(texts, u.text())
		}
	}
	return texts
}

// The user's reason for a refusal is the next message to the model, within the same prompt: for a command, an edit, a plan, and several
// tools at once.
func TestRefusalWithText(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		file := filepath.Join(h.work, "a.txt")
		require.NoError(t, os.WriteFile(file, []byte("line one\n"), 0o600))
		model.On("command", modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute("a", "touch refused")}})
		model.On("edit", modelserver.Step{Text: "I edit it. ", Tools: []modelserver.ToolCall{{ID: "b", Name: "Edit",
			Args: map[string]any{"file_path": file, "old_str": "line one", "new_str": "line 1"}}}})
		model.On("several", modelserver.Step{Text: "I do both. ", Tools: []modelserver.ToolCall{execute("c", "touch refused"),
			{ID: "d", Name: "Create", Args: map[string]any{"file_path": filepath.Join(h.work, "refused"), "content": "x\n"}}}})
		spec(model)
		model.On("because", modelserver.Step{Text: "I see."})
		model.On("next", modelserver.Step{Text: "The next answer."})
		c := startAgent(t, h)
		s := c.openAs(h, forms)
		c.onPermission(refuseWithWords)
		for _, what := range []string{"command", "edit", "several", "plan"} {
			if what == "plan" {
				s = s.inSpec()
			}
			saying(c, "because "+what)
			asked := len(c.asked())
			turn := s.prompt(what)
			next := s.prompt("next")
			end := turn.end(turnLimit)
			require.Nil(t, end.Err, what)
			require.Equal(t, "end_turn", end.Stop, what)
			require.True(t, strings.HasSuffix(end.text(), "I see."), "%s: %s", what, end.text())
			require.Len(t, end.userTexts(), 1, what)
			var words []string
			for i := range len(c.asked()) - asked {
				words = append(words, fmt.Sprintf("because %s %d", what, i+1))
			}
			require.Equal(t, strings.Join(words, "\n\n"), end.userTexts()[0])
			t.Logf("%s: asked %d, %q", what, len(c.asked())-asked, end.userTexts())
			seenBehind(t, model, end.userTexts()[0])
			require.True(t, strings.HasSuffix(next.end(turnLimit).text(), "\n\nThe next answer."), what)
		}
		require.NoFileExists(t, filepath.Join(h.work, "refused"))

		c.end(h)
		again := startAgent(t, h).initialize()
		from := again.seen()
		again.mustCall("session/load", map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{}}, nil)
		_, l := again.await("the words in the history", from, turnLimit, func(l line) bool {
			u, ok := asUpdate(l)
			return ok && u.SessionUpdate == "user_message_chunk" && u.text() == "because command 1"
		})
		require.NotEmpty(t, l.raw)
		require.Equal(t, 1, strings.Count(again.transcript(), `"text":"because command 1"`))
	})
}

// A follow-up that droid has already runs before the reason; a cancel while the model answers the reason ends the prompt.
func TestRefusalTextWithFollowUpsAndCancels(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("command", modelserver.Step{Text: "I run it. ", Tools: []modelserver.ToolCall{execute("a", "touch refused")}})
		model.On("follow", modelserver.Step{Text: "I followed."})
		model.On("because", modelserver.Step{Text: "I see."})
		model.On("hang", modelserver.Step{Hang: true})
		c := startAgent(t, h)
		s := c.openAs(h, forms)
		c.mustCall("session/set_config_option", map[string]any{"sessionId": s.id, "configId": "follow_up", "value": "steer"}, nil)
		c.onPermission(refuseWithWords)
		saying(c, "because")
		asked := make(chan struct{})
		c.onPermission(func(p permission) string {
			close(asked)
			time.Sleep(500 * time.Millisecond)
			return refuseWithWords(p)
		})
		running := s.prompt("command")
		<-asked
		follow := s.prompt("follow")
		first := running.done()
		require.Equal(t, []string{"because 1"}, first.userTexts())
		require.Equal(t, "end_turn", follow.end(turnLimit).Stop)
		require.True(t, modelGot(model, "because 1"))
		require.True(t, modelGot(model, "follow"))

		c.onPermission(refuseWithWords)
		saying(c, "hang")
		running = s.prompt("command")
		running.awaitUpdate("the words", func(u update) bool { return u.SessionUpdate == "user_message_chunk" })
		c.notify("session/cancel", map[string]any{"sessionId": s.id})
		end := running.end(turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, "cancelled", end.Stop)
		running.noUpdateAfter(end, 500*time.Millisecond)
		require.Equal(t, "end_turn", s.prompt("follow").end(turnLimit).Stop)
	})
}

// Of several tools one is allowed and another refused with a reason: the model gets both in the same prompt, whichever was answered first.
func TestRefusalOfOneOfSeveralWithText(t *testing.T) {
	t.Parallel()
	model := newModel(t)
	h := newHome(t, newDroid, model.URL()) // 0.99 asks once for both
	model.On("because", modelserver.Step{Text: "I see."})
	c := startAgent(t, h)
	s := c.openAs(h, forms)
	for first, name := range map[bool]string{true: "first", false: "second"} {
		model.On(name, modelserver.Step{Text: "I do both. ", Tools: []modelserver.ToolCall{execute("c-"+name, "touch made"),
			{ID: "d-" + name, Name: "Create", Args: map[string]any{"file_path": filepath.Join(h.work, name), "content": "x\n"}}}},
			modelserver.Step{Text: "Goes on."})
		saying(c, "because")
		asked := 0
		c.onPermission(func(p permission) string {
			if asked++; (asked == 1) == first {
				return refuseWithWords(p)
			}
			return allowOnce(p)
		})
		end := s.prompt(name).end(turnLimit)
		require.Nil(t, end.Err, name)
		require.Equal(t, []string{"because 1"}, end.userTexts(), name)
		require.ElementsMatch(t, []string{"completed", "failed"}, end.tools(), name)
		require.Equal(t, "I do both. I see.", end.text(), "%s: the turn ends with a refusal, also where something was allowed", name)
	}
}

// steer sends a steering message, and returns its outcome.
func (s session) steer(text string) (outcome string) {
	s.t.Helper()
	var result struct {
		Outcome string `json:"outcome"`
	}
	s.mustCall("_session/steering", map[string]any{"sessionId": s.id, "prompt": []any{map[string]any{"type": "text", "text": text}},
		"_meta": map[string]any{"steering": map[string]any{"idleBehavior": "promptRequired"}}}, &result)
	return result.Outcome
}

// A steering message reaches the model within the running prompt, which ends after its answer: while the model streams, while a tool runs,
// and during a question.
func TestSteering(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("long", modelserver.Step{Text: strings.Repeat("word ", 20), Delay: 50 * time.Millisecond})
		model.On("sleep", modelserver.Step{Text: "I wait. ", Tools: []modelserver.ToolCall{execute("a", "sleep 1; touch slept")}}, modelserver.Step{Text: "Slept."})
		model.On("touch", modelserver.Step{Text: "I touch it. ", Tools: []modelserver.ToolCall{execute("b", "touch made")}}, modelserver.Step{Text: "Made."})
		model.On("steered", modelserver.Step{Text: "I was steered."})
		c := startAgent(t, h)
		s := c.openAs(h, map[string]any{})
		var result struct {
			Meta struct {
				Steering struct{ Supported bool }
			} `json:"_meta"`
		}
		_, l := c.await("initialize", 0, turnLimit, func(l line) bool { return len(l.Result) > 0 && strings.Contains(string(l.Result), "protocolVersion") })
		require.NoError(t, json.Unmarshal(l.Result, &result))
		require.True(t, result.Meta.Steering.Supported)
		require.Equal(t, "promptRequired", s.steer("steered too early"))

		injected := func(text string) {
			require.Equal(t, "injected", s.steer(text), text)
		}
		steer := func(prompt, message string, now func(update) bool) ending {
			turn := s.prompt(prompt)
			turn.awaitUpdate("the moment", now)
			injected(message)
			end := turn.end(turnLimit)
			require.Nil(t, end.Err, prompt)
			require.Equal(t, "end_turn", end.Stop, prompt)
			require.Empty(t, end.userTexts(), prompt)
			require.Contains(t, end.text(), "I was steered.", prompt)
			require.True(t, modelGot(model, message), prompt)
			return end
		}
		steer("long", "steered while speaking", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
		c.onPermission(allowOnce)
		steer("sleep", "steered while a tool runs", func(u update) bool { return u.Status == "in_progress" })
		asked := make(chan struct{})
		c.onPermission(func(p permission) string {
			close(asked)
			time.Sleep(500 * time.Millisecond)
			return allowOnce(p)
		})
		turn := s.prompt("touch")
		<-asked
		injected("steered while asked")
		end := turn.done()
		require.Contains(t, end.text(), "I was steered.")
		require.Equal(t, []string{"completed"}, end.tools())
		c.onPermission(rejectOnce)
		require.Equal(t, "promptRequired", s.steer("steered too late"))
	})
}
