package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/visible"
)

// questionField and otherField return the field names of question i. A form shows its fields in the order of their names, or in any order, so
// titles are numbered.
func questionField(i int) string { return fmt.Sprintf("question_%02d", i+1) }
func otherField(i int) string    { return fmt.Sprintf("question_%02d_other", i+1) }

// markForAir completes the marks of the free-text fields.
func markForAir(form *protocol.ElicitationParams) {
	for name, field := range form.Schema.Properties {
		if field.Meta != nil {
			field.Meta = field.Meta.ForAir()
			form.Schema.Properties[name] = field
		}
	}
}

// questionForm returns one form for all questions. A question with options has a choice and a free-text field; one of them suffices.
func questionForm(toolID string, questions []stream.Question) *protocol.ElicitationParams {
	p := &protocol.ElicitationParams{ToolCallID: toolID, Mode: "form", Message: protocol.Text(questionTitle(questions)),
		Schema: protocol.FormSchema{Type: "object", Properties: map[string]protocol.FormField{}}}
	for i, q := range questions {
		title := cmp.Or(q.Topic, "Question")
		question := "" // if there is one, it is the message
		if len(questions) > 1 {
			title, question = fmt.Sprintf("%d. %s", i+1, title), q.Question
		}
		field := protocol.FormField{Type: "string", Title: protocol.Line(title), Description: protocol.Text(question), Enum: protocol.Lines(q.Options)}
		words := protocol.FormField{Type: "string", Title: protocol.Line(title + ": other"), Description: "Your answer in your own words, in place of the choice above",
			Meta: protocol.CustomAnswerFor(questionField(i))}
		switch {
		case len(q.Options) == 0:
			field.MinLength = 1
			p.Schema.Required = append(p.Schema.Required, questionField(i))
		case q.MultiSelect:
			field.Type, field.Enum, field.Items = "array", nil, &protocol.FormItems{Type: "string", Enum: protocol.Lines(q.Options)}
			words.Description = "Your answer in your own words, besides the choices above"
			p.Schema.Properties[otherField(i)] = words
		default:
			p.Schema.Properties[otherField(i)] = words
		}
		p.Schema.Properties[questionField(i)] = field
	}
	return p
}

// questionTitle returns the question, or the number of questions.
func questionTitle(questions []stream.Question) string {
	if len(questions) == 1 {
		return questions[0].Question
	}
	return fmt.Sprintf("Droid has %d questions", len(questions))
}

// Answers sent to the model if the user gave none.
const (
	declinedAnswer = "(The user declined to answer this question.)"
	noAnswer       = "(The user left this question unanswered.)"
	laterAnswer    = "(The user gives their own answer in their next message. End your turn now and wait for it.)"
	unaskedAnswer  = "(The user could not be asked: their client takes no answers here. The question was shown to them as a message, " +
		"and they may answer with their next one. Do not assume an answer; if you need one, say so and end your turn.)"
)

// forUsers replaces these answers by text for users.
func forUsers(text string) string {
	for _, words := range [][2]string{
		{declinedAnswer, "(not answered)"}, {noAnswer, "(left unanswered)"},
		{laterAnswer, "(an answer of your own, in your next prompt)"}, {unaskedAnswer, "(nobody was asked; answer in your next prompt)"},
	} {
		text = strings.ReplaceAll(text, words[0], words[1])
	}
	return text
}

func allAnswered(questions []stream.Question, text string) stream.Answers {
	var a stream.Answers
	for _, q := range questions {
		a.Answers = append(a.Answers, answerTo(q, text))
	}
	return a
}

func answerTo(q stream.Question, text string) stream.Answer {
	return stream.Answer{Index: q.Index, Question: q.Question, Answer: text}
}

// formAnswers reads a filled form: free text takes precedence over the choice, or is added to it if several may be chosen.
func formAnswers(questions []stream.Question, filled map[string]json.RawMessage) stream.Answers {
	var a stream.Answers
	for i, q := range questions {
		text, choice := formText(filled[otherField(i)]), formText(filled[questionField(i)], q.Options...)
		switch {
		case text == "":
			text = choice
		case q.MultiSelect && choice != "":
			text = choice + ", " + text
		}
		text = cmp.Or(text, noAnswer)
		a.Answers = append(a.Answers, answerTo(q, text))
	}
	return a
}

// formText returns a field's value, several joined as droid does. A client may send unexpected types. A displayed option is mapped back to
// droid's.
func formText(raw json.RawMessage, options ...string) string {
	asOffered := func(text string) string {
		for _, option := range options {
			if visible.Line(option) == text {
				return option
			}
		}
		return text
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(asOffered(text))
	}
	var several []string
	if json.Unmarshal(raw, &several) == nil {
		for i, one := range several {
			several[i] = asOffered(one)
		}
		return strings.Join(several, ", ")
	}
	return string(raw)
}
