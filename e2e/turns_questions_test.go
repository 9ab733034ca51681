//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

const questionnaire = "1. [question] Which color do you want?\n[topic] Color\n[option] Red\n[option] Blue\n\n" +
	"2. [question] Which size?\n[topic] Size\n[option] Small\n[option] Large\n\n" +
	"3. [question] Which shape?\n[topic] Shape\n[option] Round\n[option] Square\n"

func questionModel(model *modelserver.Server, words ...string) {
	for _, word := range words {
		model.On(word, modelserver.Step{Text: "I ask. ", Tools: []modelserver.ToolCall{{ID: word, Name: "AskUser", Args: map[string]any{"questionnaire": questionnaire}}}},
			modelserver.Step{Text: "Thank you."})
	}
}

// toldModel is the last request of a prompt, as the model got it.
func toldModel(model *modelserver.Server, prompt string) string {
	body := ""
	for _, r := range model.Requests() {
		if r.Prompt == prompt {
			body = string(r.Body)
		}
	}
	return body
}

func (c *client) onForm(form func(json.RawMessage) string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.form = form
}

func TestQuestionsInAForm(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		questionModel(model, "fill", "decline", "dismiss", "leave")
		c := startAgent(t, h)
		s := c.openAs(h, map[string]any{"elicitation": map[string]any{"form": map[string]any{}}})
		forms := 0
		answer := func(result string) {
			c.onForm(func(params json.RawMessage) string {
				forms++
				for _, word := range []string{"Which color", "Which size", "Which shape", `"enum":["Red","Blue"]`, `"mode":"form"`, s.id} {
					if !strings.Contains(string(params), word) {
						t.Errorf("the form lacks %q: %s", word, params)
					}
				}
				return result
			})
		}
		answer(`{"action":"accept","content":{"question_01":"Blue","question_02_other":"Gigantic","question_03":"Round"}}`)
		end := s.prompt("fill").end(turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, "I ask. \n\nThank you.", end.text())
		for _, word := range []string{"[answer] Blue", "[answer] Gigantic", "[answer] Round"} {
			require.Contains(t, toldModel(model, "fill"), word)
		}
		require.Equal(t, []string{"completed"}, end.tools())

		answer(`{"action":"decline"}`)
		end = s.prompt("decline").end(turnLimit)
		require.Equal(t, "I ask. \n\nThank you.", end.text(), "the model goes on without an answer")
		require.Contains(t, toldModel(model, "decline"), "declined to answer")

		answer(`{"action":"cancel"}`)
		end = s.prompt("dismiss").done()
		t.Logf("after a cancel: %q %v", end.text(), end.tools())

		answer("") // left open
		running := s.prompt("leave")
		_, open := c.await("the form", running.from, turnLimit, func(l line) bool { return l.Method == "elicitation/create" })
		c.notify("session/cancel", map[string]any{"sessionId": s.id})
		end = running.end(turnLimit)
		require.Equal(t, "cancelled", end.Stop)
		c.await("the withdrawal", running.from, turnLimit, func(l line) bool {
			return l.Method == "$/cancel_request" && strings.Contains(string(l.Params), string(open.ID))
		})
		require.Equal(t, 4, forms)

		if h.version == newDroid {
			severalModel(model)
			c.onForm(func(params json.RawMessage) string {
				if !strings.Contains(string(params), `"items":{"type":"string","enum":["Doors","Windows","Roof"]}`) {
					t.Errorf("no choice of several: %s", params)
				}
				return `{"action":"accept","content":{"question_01":["Doors","Roof"],"question_01_other":"Cellar"}}`
			})
			require.Equal(t, "I ask. \n\nThank you.", s.prompt("several").end(turnLimit).text())
			require.Contains(t, toldModel(model, "several"), "[answer] Doors, Roof, Cellar")
		}

		openModel(model)
		c.onForm(func(params json.RawMessage) string {
			if !strings.Contains(string(params), `"description":"What should the project be called?","minLength":1`) || strings.Count(string(params), `["Yes","No"]`) != 1 {
				t.Errorf("not a field and a choice: %s", params)
			}
			return `{"action":"accept","content":{"question_01":"Lark","question_02":"Yes"}}`
		})
		require.Equal(t, "I ask. \n\nThank you.", s.prompt("name it").end(turnLimit).text())
		require.Contains(t, toldModel(model, "name it"), `[answer] Lark`)
		require.Empty(t, c.asked())
	})
}

// Questions to a client without forms are choices, also those without options (quirk 37).
func TestQuestionsAsChoices(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		questionModel(model, "choose", "decline", "dismiss", "leave")
		c := startAgent(t, h)
		s := c.open(h)
		c.onPermission(func(p permission) string { return p.Options[1].OptionID })
		end := s.prompt("choose").end(turnLimit)
		require.Nil(t, end.Err)
		require.Len(t, c.asked(), 3)
		for i, word := range []string{"Which color", "Which size", "Which shape"} {
			require.Contains(t, string(c.asked()[i].ToolCall), word, "in order")
		}
		for _, word := range []string{"[answer] Blue", "[answer] Large", "[answer] Square"} {
			require.Contains(t, toldModel(model, "choose"), word)
		}

		c.onPermission(rejectOnce)
		end = s.prompt("decline").end(turnLimit)
		require.Equal(t, "I ask. \n\nThank you.", end.text())
		require.Contains(t, toldModel(model, "decline"), "declined to answer")
		require.Len(t, c.asked(), 6)

		c.onPermission(func(permission) string { return "" })
		end = s.prompt("dismiss").done()
		require.Len(t, c.asked(), 7)

		c.onPermission(noAnswer)
		running := s.prompt("leave")
		c.await("the question", running.from, turnLimit, func(l line) bool { return l.Method == "session/request_permission" })
		c.notify("session/cancel", map[string]any{"sessionId": s.id})
		require.Equal(t, "cancelled", running.end(turnLimit).Stop)

		if h.version == newDroid {
			severalModel(model)
			picks := []string{"answer_2", "answer_0", "done"}
			c.onPermission(func(permission) string {
				pick := picks[0]
				picks = picks[1:]
				return pick
			})
			require.Equal(t, "I ask. \n\nThank you.", s.prompt("several").end(turnLimit).text())
			require.Contains(t, toldModel(model, "several"), "[answer] Roof, Doors")
		}

		openModel(model)
		before := len(c.onPermission(func(p permission) string { return p.Options[0].OptionID }).asked())
		require.Equal(t, []string{"completed"}, s.prompt("name it").end(turnLimit).tools())
		asked := c.asked()[before:]
		require.Equal(t, []string{"Answer in my next prompt", "Do not answer"}, optionNames(asked[0]))
		require.Equal(t, []string{"Yes", "No", "Something else, in my next prompt", "Do not answer"}, optionNames(asked[1]))
		require.Contains(t, toldModel(model, "name it"), "[answer] (The user gives their own answer in their next message.")
		require.Contains(t, toldModel(model, "name it"), "[answer] Yes")
	})
}

// severalModel asks a question that takes several answers: a choice of several in a form, and choices one after the other without (0.225;
// older droids do not know such questions).
func severalModel(model *modelserver.Server) {
	model.On("several", modelserver.Step{Text: "I ask. ", Tools: []modelserver.ToolCall{{ID: "several", Name: "AskUser", Args: map[string]any{
		"questionnaire": "1. [question] Which parts? (multi)\n[topic] Parts\n[option] Doors\n[option] Windows\n[option] Roof\n"}}}}, modelserver.Step{Text: "Thank you."})
}

// openModel asks a question without options, to which droid adds Yes and No: in a form it is a text field, otherwise a choice that refers to
// the next prompt (quirk 37).
func openModel(model *modelserver.Server) {
	model.On("name it", modelserver.Step{Text: "I ask. ", Tools: []modelserver.ToolCall{{ID: "open", Name: "AskUser", Args: map[string]any{
		"questionnaire": "1. [question] What should the project be called?\n[topic] Name\n\n2. [question] Ship it?\n[topic] Ship\n[option] Yes\n[option] No\n"}}}}, modelserver.Step{Text: "Thank you."})
}

// todoForms are the forms of a todo list. droid asks the model for text, whatever
// the model's name and API, and takes an array as well, also one that is written
// as text.
var todoForms = map[string]func(*testing.T, []todo) any{
	"text": func(_ *testing.T, list []todo) any {
		text := ""
		for i, e := range list {
			text += fmt.Sprintf("%d. [%s] %s\n", i+1, e.Status, e.Content)
		}
		return text
	},
	"array": func(_ *testing.T, list []todo) any { return list },
	"written": func(t *testing.T, list []todo) any {
		text, err := json.Marshal(list)
		require.NoError(t, err)
		return string(text)
	},
}

type todo struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"`
}

// The plan is the content of the todo list, each time, and again after loading.
func TestPlan(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		lists := [][]todo{
			{{"1", "Read", "in_progress"}, {"2", "Change", "pending"}},
			{{"1", "Read", "completed"}, {"2", "Change", "in_progress"}},
			{{"1", "Read", "completed"}, {"2", "Change", "completed"}, {"3", "Test", "pending"}},
		}
		want := []string{
			"in_progress Read\npending Change\n",
			"completed Read\nin_progress Change\n",
			"completed Read\ncompleted Change\npending Test\n",
		}
		s := startAgent(t, h).open(h)
		for form, args := range todoForms {
			var steps []modelserver.Step
			for _, list := range lists {
				steps = append(steps, modelserver.Step{Text: "On. ", Tools: []modelserver.ToolCall{{Name: "TodoWrite", Args: map[string]any{"todos": args(t, list)}}}})
			}
			model.On("plan as "+form, append(steps, modelserver.Step{Text: "Planned."})...)
			end := s.prompt("plan as " + form).end(turnLimit)
			require.Nil(t, end.Err)
			require.Equal(t, want, plansOf(t, end.Updates), form)
			require.Empty(t, end.tools(), "the calls themselves are not shown")
		}
		s.end(h)

		again := startAgent(t, h).initialize()
		from := again.seen()
		again.mustCall("session/load", h.params(s.id), nil)
		require.Equal(t, slices.Concat(want, want, want), plansOf(t, again.updatesFrom(from)))
	})
}

// plansOf are the plans among updates, a line an entry.
func plansOf(t *testing.T, updates []update) []string {
	t.Helper()
	var plans []string
	for _, u := range updates {
		if u.SessionUpdate != "plan" {
			continue
		}
		var p struct {
			Entries []struct{ Content, Status string }
		}
		require.NoError(t, json.Unmarshal([]byte(u.raw), &p))
		text := ""
		for _, e := range p.Entries {
			text += e.Status + " " + e.Content + "\n"
		}
		plans = append(plans, text)
	}
	return plans
}

// A user whose client cannot be asked is informed of a question, and so is the model.
func TestQuestionToNobody(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		openModel(model)
		c := startAgent(t, h)
		end := c.openNamed(h, byKind, map[string]any{}).prompt("name it").end(turnLimit)
		require.Equal(t, []string{"completed"}, end.tools())
		require.Contains(t, end.text(), "What should the project be called?\n\nShip it?\n- Yes\n- No\n\nPlease answer in your next prompt")
		require.Equal(t, 2, strings.Count(toldModel(model, "name it"), "[answer] (The user could not be asked"))
		require.Empty(t, c.asked())
	})
}
