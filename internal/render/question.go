package render

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// Questions are droid's questions as shown to the user, and the Dialog that yields the answers.
type Questions struct {
	Before  []Output // to be sent before asking
	After   []Output // to be sent after asking, whatever the outcome
	Refused bool     // do not ask: droid gets the Answers as they are

	questionDialog
}

// Questions prepares droid's questions: one form if the client supports forms, else one choice after the other. A client that may not show
// option names would have them answered blindly: it gets the questions as a message, to be answered in the next prompt.
func (v *View) Questions(ev quirks.QuestionRequested) *Questions {
	if len(ev.Questions) == 0 {
		return &Questions{Refused: true}
	}
	q := &Questions{questionDialog: questionDialog{form: v.client.Forms, air: v.client.Air, toolID: ev.ToolID, questions: ev.Questions, client: v.client.ClientProfile}}
	title := protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: ev.ToolID, Title: protocol.Line(questionsTitle(questionTexts(ev.Questions)))}
	switch {
	case v.client.Forms:
		v.send(title)
		q.Before = v.take()
	case !v.client.MayShowOptionNames():
		q.unshown()
		q.Before, q.Refused = v.ShowUnasked(q), true
	case len(ev.Questions) > 1 || v.client.ShowsRequestContent: // the call still has the title of its last request
		v.send(title)
		q.After = v.take()
	}
	return q
}

// ShowUnasked shows the questions that could not be asked as a message.
func (v *View) ShowUnasked(q *Questions) []Output {
	if !q.unasked {
		return nil
	}
	text := ""
	for _, q := range q.questions {
		text += q.Question + "\n"
		for _, option := range q.Options {
			text += "- " + option + "\n"
		}
		text += "\n"
	}
	v.notice(text + "Please answer in your next prompt.")
	return v.take()
}

func hasOptions(q stream.Question) bool { return len(q.Options) > 0 }

// askUserView is the view of an AskUser call.
type askUserView struct{ *shownCall }

func newAskUser(c *shownCall) toolView { return askUserView{c} }

// describe converts the input to the form in which agent-shell recognizes questions of any agent, and displays them as prose.
func (askUserView) describe(_ string, input json.RawMessage, shown *protocol.ToolCall) {
	type option struct {
		Label string `json:"label"`
	}
	type question struct {
		Question string   `json:"question"`
		Header   string   `json:"header,omitempty"`
		Options  []option `json:"options,omitempty"`
	}
	var questions []question
	for _, q := range ParseQuestionnaire(parseToolInput(input).Questionnaire) {
		asked := question{Question: q.Question, Header: q.Topic}
		for _, text := range q.Options {
			asked.Options = append(asked.Options, option{text})
		}
		questions = append(questions, asked)
	}
	if raw, err := json.Marshal(map[string]any{"questions": questions}); err == nil && len(questions) > 0 {
		shown.RawInput = boundedInput(raw)
	}
}

// ended shows the answers, without the texts for the model.
func (a askUserView) ended(ev quirks.ToolEnded, update *protocol.ToolCall) {
	a.shownCall.ended(ev, update)
	for i := range update.Content {
		if c := update.Content[i].Content; c != nil && c.Text != nil {
			update.Content[i] = protocol.TextContent(forUsers(*c.Text))
		}
	}
}

// askTitle returns the title of an AskUser call.
func askTitle(in toolInput) string {
	var texts []string
	for _, q := range ParseQuestionnaire(in.Questionnaire) {
		texts = append(texts, q.Question)
	}
	return questionsTitle(texts)
}

// questionTexts returns the texts of questions.
func questionTexts(questions []stream.Question) []string {
	var texts []string
	for _, q := range questions {
		texts = append(texts, q.Question)
	}
	return texts
}

// questionsTitle returns the title of a call with these questions, "" for none.
func questionsTitle(questions []string) string {
	if len(questions) == 1 {
		return FirstLine(questions[0])
	}
	var lines []string
	for _, q := range questions {
		lines = append(lines, FirstLine(q))
	}
	if len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf("%d questions: %s", len(lines), strings.Join(lines, "; "))
}

// questionPattern matches questions in the input of an AskUser (0.99 to 0.225).
var questionPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*\d+\.\s*\[question\]\s*(.+?)\s*(?:\(multi\))?\s*$`)
})
