package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
)

// IDs of options that are not droid's: decline a question, finish a multiple choice, leave the answer to the next prompt.
const (
	declineOption = "decline"
	doneOption    = "done"
	laterOption   = "later"
)

// questionDialog asks questions: in one form, or one after the other.
type questionDialog struct {
	form      bool
	air       bool // the client takes Air's marks in a form
	toolID    string
	questions []stream.Question
	client    protocol.ClientProfile

	asking  optionChoice // the current question
	picked  []int        // options chosen so far in a multiple choice
	answers stream.Answers
	over    bool
	unasked bool // the client can show no question
}

var _ Dialog = (*questionDialog)(nil)

// Next implements Dialog.
func (d *questionDialog) Next() (Step, bool) {
	if d.form && !d.over {
		form := questionForm(d.toolID, d.questions)
		if d.air {
			markForAir(form)
		}
		return Step{Form: form}, true
	}
	if d.over {
		return Step{}, false
	}
	q := d.question()
	call := d.call(q)
	if q.MultiSelect && hasOptions(q) {
		call.Content = append(call.Content, protocol.TextContent(d.pickedText(q)))
	}
	d.asking = newChoice(d.buttons(q), d.client.MayShowOptionNames())
	return Step{Choice: &protocol.PermissionParams{ToolCall: titled(call, d.client), Options: d.asking.shown}}, true
}

// question returns the current question.
func (d *questionDialog) question() stream.Question { return d.questions[len(d.answers.Answers)] }

// answer answers the current question. After the last one the dialog is over.
func (d *questionDialog) answer(text string) {
	d.answers.Answers = append(d.answers.Answers, answerTo(d.question(), text))
	d.picked = nil
	d.over = len(d.answers.Answers) == len(d.questions)
}

// OptionChosen implements Dialog. Dismissing one question dismisses all.
func (d *questionDialog) OptionChosen(optionID string) (offered bool) {
	option := d.asking.picked(optionID)
	if d.over || d.form || option == "" {
		d.cancel()
		return option != ""
	}
	q := d.question()
	switch i := optionIndex(q, option); {
	case option == doneOption:
		d.answer(d.pickedTexts(q))
	case option == laterOption:
		d.answer(strings.TrimPrefix(d.pickedTexts(q)+", "+laterAnswer, ", "))
	case i < 0: // declineOption
		d.answer(declinedAnswer)
	case !q.MultiSelect:
		d.answer(q.Options[i])
	default:
		d.picked = append(d.picked, i)
		if len(d.picked) == len(q.Options) {
			d.answer(d.pickedTexts(q))
		}
	}
	return true
}

// FormFilled implements Dialog. Without a clear answer the questions are cancelled; declining is an answer. If the form could not be shown,
// the questions are asked as choices, provided that the client shows names.
func (d *questionDialog) FormFilled(result *protocol.ElicitationResult) {
	switch {
	case d.over || !d.form:
		d.cancel()
	case result == nil && d.client.MayShowOptionNames():
		d.form = false
	case result == nil:
		d.unshown()
	case result.Action == "accept":
		d.answers, d.over = formAnswers(d.questions, result.Content), true
	case result.Action == "decline":
		d.answers, d.over = allAnswered(d.questions, declinedAnswer), true
	default:
		d.cancel()
	}
}

// unshown answers on behalf of a user who could not be asked.
func (d *questionDialog) unshown() {
	d.answers, d.over, d.unasked = allAnswered(d.questions, unaskedAnswer), true, true
}

func (d *questionDialog) cancel() { d.answers, d.over = stream.Answers{Cancelled: true}, true }

// Answers returns the user's answers. Until the dialog is over, the questions are cancelled.
func (d *questionDialog) Answers() stream.Answers {
	if !d.over {
		return stream.Answers{Cancelled: true}
	}
	return d.answers
}

// buttons returns the options of a question not chosen yet, and those to leave it.
func (d *questionDialog) buttons(q stream.Question) (buttons []protocol.PermissionOption) {
	for i, option := range q.Options {
		if !slices.Contains(d.picked, i) {
			buttons = append(buttons, protocol.PermissionOption{OptionID: answerOption(i), Name: protocol.Line(option), Kind: acp.PermissionOptionKindAllowOnce})
		}
	}
	if len(d.picked) > 0 {
		buttons = append(buttons, protocol.PermissionOption{OptionID: doneOption, Name: "That is all", Kind: acp.PermissionOptionKindAllowOnce})
	}
	later := "Something else, in my next prompt"
	if !hasOptions(q) {
		later = "Answer in my next prompt"
	}
	return append(buttons, protocol.PermissionOption{OptionID: laterOption, Name: protocol.Line(later), Kind: acp.PermissionOptionKindAllowOnce},
		protocol.PermissionOption{OptionID: declineOption, Name: "Do not answer", Kind: acp.PermissionOptionKindRejectOnce})
}

func (d *questionDialog) pickedText(q stream.Question) string {
	if len(d.picked) == 0 {
		return "You may pick several, one after the other."
	}
	return "Picked so far: " + d.pickedTexts(q)
}

// pickedTexts returns the options chosen so far, in the order of choice.
func (d *questionDialog) pickedTexts(q stream.Question) string {
	var texts []string
	for _, i := range d.picked {
		texts = append(texts, q.Options[i])
	}
	return strings.Join(texts, ", ")
}

// call returns a question as the AskUser call: in its content, and in its title only for clients that may show nothing else.
func (d *questionDialog) call(q stream.Question) protocol.ToolCall {
	title, text := q.Question, q.Question
	if q.Topic != "" {
		text = "**" + q.Topic + "**\n\n" + q.Question
	}
	if d.client.ShowsRequestContent {
		title, text = shorten(cmp.Or(FirstLine(q.Topic), "Question"), 60), q.Question
	}
	if of := len(d.questions); of > 1 {
		title = fmt.Sprintf("(%d of %d) %s", len(d.answers.Answers)+1, of, title)
	}
	return protocol.ToolCall{ToolCallID: d.toolID, Title: protocol.Line(title), Kind: acp.ToolKindOther, Status: protocol.StatusPending,
		Content: []protocol.ToolContent{protocol.TextContent(text)}}
}

func answerOption(i int) string { return fmt.Sprintf("answer_%d", i) }

// optionIndex returns the index of the option with this ID, or -1.
func optionIndex(q stream.Question, button string) int {
	for i := range q.Options {
		if answerOption(i) == button {
			return i
		}
	}
	return -1
}
