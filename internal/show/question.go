package show

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
)

// Questions are questions of droid's as the user sees them, and the Dialog that leads to
// their answers.
type Questions struct {
	Before  []Output // what is shown before the user is asked
	After   []Output // what closes that up when the user was asked, whatever came of it
	Refused bool     // nobody is to be asked: droid's questions are cancelled

	questionDialog
}

// Questions shows droid's questions: in one form where the editor has forms, else one
// after the other, each as a choice. A client that is not known to show what the options
// are called would have them answered blindly: it is told the questions, and the user
// answers them with the next prompt.
func (v *View) Questions(ev quirks.QuestionAsked) *Questions {
	if len(ev.Questions) == 0 {
		return &Questions{Refused: true}
	}
	q := &Questions{questionDialog: questionDialog{form: v.client.Forms, toolID: ev.ToolID, questions: ev.Questions, names: v.client.OptionNames}}
	title := protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: ev.ToolID, Title: protocol.Line(questionsTitle(questionTexts(ev.Questions)))}
	switch {
	case v.client.Forms:
		v.send(title)
		q.Before = v.take()
	case !v.client.OptionNames || !slices.ContainsFunc(ev.Questions, hasOptions):
		v.tellUnanswerable(ev.Questions)
		q.Before, q.Refused = v.take(), true
	default:
		v.tellUnanswerable(slices.DeleteFunc(slices.Clone(ev.Questions), hasOptions))
		q.Before = v.take()
		if len(ev.Questions) > 1 { // the call has had the title of its last question
			v.send(title)
			q.After = v.take()
		}
	}
	return q
}

func hasOptions(q stream.Question) bool { return len(q.Options) > 0 }

// tellUnanswerable tells the questions that this editor cannot answer.
func (v *View) tellUnanswerable(questions []stream.Question) {
	if len(questions) == 0 {
		return
	}
	text := ""
	for _, q := range questions {
		text += q.Question + "\n"
		for _, option := range q.Options {
			text += "- " + option + "\n"
		}
		text += "\n"
	}
	v.say(text + "This editor cannot give an answer here: please answer in your next prompt.")
}

// askTitle is the title of an AskUser call.
func askTitle(in toolInput) string { return questionsTitle(in.Asks) }

// questionTexts are the questions themselves.
func questionTexts(questions []stream.Question) []string {
	var texts []string
	for _, q := range questions {
		texts = append(texts, q.Question)
	}
	return texts
}

// questionsTitle is the title of a call that asks these questions, "" for none.
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

// questionPattern finds the questions in the input of an AskUser (0.99 to 0.225).
var questionPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*\d+\.\s*\[question\]\s*(.+?)\s*(?:\(multi\))?\s*$`)
})

// inputQuestions are the questions in the input of an AskUser.
func inputQuestions(questionnaire string) []string {
	var questions []string
	for _, m := range questionPattern().FindAllStringSubmatch(questionnaire, -1) {
		questions = append(questions, m[1])
	}
	return questions
}
