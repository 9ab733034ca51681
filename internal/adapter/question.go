package adapter

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
)

// Ids of the buttons that are not droid's options: one answers no question, one
// ends the picking of several options.
const (
	declineOption = "decline"
	doneOption    = "done"
)

// askQuestions shows droid's questions: in one form where the editor has forms,
// else one after the other, each as a choice. droid always gets an answer: what
// the user said, that they declined, or "cancelled" when they dismissed it. A
// client that is not known to show what the options are called would have them
// answered blindly: it is told the questions, and the user answers them with the
// next prompt.
func (s *Session) askQuestions(ev quirks.QuestionAsked) {
	cancelled := stream.Answers{Cancelled: true}
	switch {
	case s.ended || s.stopsTurn() || len(ev.Questions) == 0:
		s.answerQuestions(ev.RequestID, cancelled)
		return
	case !s.agent.client.Forms && (!s.agent.client.OptionNames || !slices.ContainsFunc(ev.Questions, hasOptions)):
		s.tellUnanswerable(ev.Questions)
		s.answerQuestions(ev.RequestID, cancelled)
		return
	}
	closeUp := func() {}
	if !s.agent.client.Forms && len(ev.Questions) > 1 {
		closeUp = func() { s.titleQuestions(ev) } // the row has had the title of its last question
	}
	ctx := s.beginAsk(&ask{
		requestID: ev.RequestID,
		refuse:    func() { s.answerQuestions(ev.RequestID, cancelled) },
		closeUp:   closeUp,
	})
	ask := s.chooseAnswers
	if s.agent.client.Forms {
		s.titleQuestions(ev)
		ask = func(ctx context.Context, session string, ev quirks.QuestionAsked) stream.Answers {
			return s.fillForm(ctx, questionForm(session, ev.ToolID, ev.Questions), ev.Questions)
		}
	} else {
		s.tellUnanswerable(slices.DeleteFunc(slices.Clone(ev.Questions), hasOptions))
	}
	session := s.id
	s.do(func(context.Context) {
		answers := ask(ctx, session, ev)
		s.post(func() {
			if s.endAsk(ev.RequestID) {
				closeUp()
				s.answerQuestions(ev.RequestID, answers)
			}
		})
	})
}

func hasOptions(q stream.Question) bool { return len(q.Options) > 0 }

// tellUnanswerable tells the questions that this editor cannot answer.
func (s *Session) tellUnanswerable(questions []stream.Question) {
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
	s.say(text + "This editor cannot give an answer here: please answer in your next prompt.")
}

// titleQuestions gives the call of questions its title.
func (s *Session) titleQuestions(ev quirks.QuestionAsked) {
	s.send(protocol.ToolCall{SessionUpdate: "tool_call_update", ToolCallID: ev.ToolID, Title: questionsTitle(questionTexts(ev.Questions))})
}

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
		return firstLine(questions[0])
	}
	var lines []string
	for _, q := range questions {
		lines = append(lines, firstLine(q))
	}
	if len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf("%d questions: %s", len(lines), strings.Join(lines, "; "))
}

// questionPattern finds the questions in the input of an AskUser (0.99 to 0.225).
var questionPattern = regexp.MustCompile(`(?m)^\s*\d+\.\s*\[question\]\s*(.+?)\s*(?:\(multi\))?\s*$`)

// inputQuestions are the questions in the input of an AskUser.
func inputQuestions(questionnaire string) []string {
	var questions []string
	for _, m := range questionPattern.FindAllStringSubmatch(questionnaire, -1) {
		questions = append(questions, m[1])
	}
	return questions
}

// chooseAnswers asks one question after the other. The first that is dismissed
// cancels all.
func (s *Session) chooseAnswers(ctx context.Context, session string, ev quirks.QuestionAsked) stream.Answers {
	var answers stream.Answers
	for i, q := range ev.Questions {
		answer := answerTo(q, declinedAnswer)
		if hasOptions(q) {
			var ok bool
			if answer, ok = s.chooseAnswer(ctx, questionParams(session, ev.ToolID, q, i+1, len(ev.Questions)), q); !ok {
				return stream.Answers{Cancelled: true}
			}
		}
		answers.Answers = append(answers.Answers, answer)
	}
	return answers
}

// chooseAnswer shows the options of one question, again and again where several
// may be picked, until the user says that it is all. ok is false when they
// dismissed it.
func (s *Session) chooseAnswer(ctx context.Context, params protocol.PermissionParams, q stream.Question) (answer stream.Answer, ok bool) {
	if !q.MultiSelect {
		return questionAnswer(q, s.choose(ctx, params))
	}
	var picked []string
	done := protocol.PermissionOption{OptionID: doneOption, Name: "That is all", Kind: acp.PermissionOptionKindAllowOnce}
	content := params.ToolCall.Content
	for len(picked) < len(q.Options) {
		params.ToolCall.Content = append(slices.Clone(content), protocol.TextContent(pickedText(picked)))
		switch option := s.choose(ctx, params); option {
		case doneOption:
			return answerTo(q, strings.Join(picked, ", ")), true
		default:
			one, ok := questionAnswer(q, option)
			if !ok || option == declineOption {
				return one, ok
			}
			picked = append(picked, one.Answer)
			params.Options = slices.DeleteFunc(slices.Clone(params.Options), func(o protocol.PermissionOption) bool {
				return o.OptionID == option || o.OptionID == doneOption
			})
			params.Options = slices.Insert(params.Options, len(params.Options)-1, done)
		}
	}
	return answerTo(q, strings.Join(picked, ", ")), true
}

func pickedText(picked []string) string {
	if len(picked) == 0 {
		return "You may pick several, one after the other."
	}
	return "Picked so far: " + strings.Join(picked, ", ")
}

// questionParams shows one question. Its tool call is the one of AskUser.
func questionParams(session, toolID string, q stream.Question, number, of int) protocol.PermissionParams {
	title := q.Question
	if of > 1 {
		title = fmt.Sprintf("(%d of %d) %s", number, of, q.Question)
	}
	text := q.Question
	if q.Topic != "" {
		text = "**" + q.Topic + "**\n\n" + q.Question
	}
	params := protocol.PermissionParams{
		SessionID: session,
		ToolCall: protocol.ToolCall{
			ToolCallID: toolID,
			Title:      title,
			Kind:       acp.ToolKindOther,
			Status:     protocol.StatusPending,
			Content:    []protocol.ToolContent{protocol.TextContent(text)},
		},
	}
	for i, option := range q.Options {
		params.Options = append(params.Options, protocol.PermissionOption{
			OptionID: answerOption(i), Name: option, Kind: acp.PermissionOptionKindAllowOnce})
	}
	params.Options = append(params.Options, protocol.PermissionOption{
		OptionID: declineOption, Name: "Do not answer", Kind: acp.PermissionOptionKindRejectOnce})
	return params
}

func answerOption(i int) string { return fmt.Sprintf("answer_%d", i) }

// questionAnswer is the answer that an option stands for, if it is one.
func questionAnswer(q stream.Question, optionID string) (stream.Answer, bool) {
	if optionID == declineOption {
		return answerTo(q, declinedAnswer), true
	}
	for i, option := range q.Options {
		if answerOption(i) == optionID {
			return answerTo(q, option), true
		}
	}
	return stream.Answer{}, false
}

func (s *Session) answerQuestions(requestID string, answers stream.Answers) {
	if client := s.proc.client(); client != nil {
		if err := client.AnswerQuestions(requestID, answers); err != nil {
			s.log.Warn("droid did not take the answer to its question", zap.Error(err))
		}
	}
	s.droidAnswered(requestID, answers.Cancelled)
}
