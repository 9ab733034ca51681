package adapter

import (
	"context"
	"fmt"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/quirks"
)

// declineOption is the id of the button that answers no question.
const declineOption = "decline"

// askQuestions shows droid's questions one after the other, each as a choice.
// droid always gets an answer: the choices, or "cancelled" when one was
// declined or a question has no options to choose from.
func (s *Session) askQuestions(ev quirks.QuestionAsked) {
	if s.ended || (s.turn != nil && s.turn.cancelled) || len(ev.Questions) == 0 {
		s.answerQuestions(ev.RequestID, droid.Answers{Cancelled: true})
		return
	}
	for _, q := range ev.Questions {
		if len(q.Options) == 0 {
			s.tell("droid asked a question that needs an answer in words, which this editor cannot give here: " + q.Question + "\nThe question was declined; answer it in your next prompt.")
			s.answerQuestions(ev.RequestID, droid.Answers{Cancelled: true})
			return
		}
	}
	ctx := s.beginAsk(&ask{
		requestID: ev.RequestID,
		refuse:    func() { s.answerQuestions(ev.RequestID, droid.Answers{Cancelled: true}) },
		closeUp:   func() {},
	})
	session := s.id
	s.do(func(context.Context) {
		answers := droid.Answers{}
		for i, q := range ev.Questions {
			params := questionParams(session, ev.ToolID, q, i+1, len(ev.Questions))
			picked := s.choose(ctx, params)
			answer, ok := questionAnswer(q, picked)
			if !ok {
				answers = droid.Answers{Cancelled: true}
				break
			}
			answers.Answers = append(answers.Answers, answer)
		}
		s.post(func() {
			if s.endAsk(ev.RequestID) {
				s.answerQuestions(ev.RequestID, answers)
			}
		})
	})
}

// questionParams shows one question. Its tool call is the one of AskUser.
func questionParams(session, toolID string, q droid.Question, number, of int) permissionParams {
	title := q.Question
	if of > 1 {
		title = fmt.Sprintf("(%d of %d) %s", number, of, q.Question)
	}
	text := q.Question
	if q.Topic != "" {
		text = "**" + q.Topic + "**\n\n" + q.Question
	}
	params := permissionParams{
		SessionID: session,
		ToolCall: toolCall{
			ToolCallID: toolID,
			Title:      title,
			Kind:       acp.ToolKindOther,
			Status:     statusPending,
			Content:    []toolContent{textContent(text)},
		},
	}
	for i, option := range q.Options {
		params.Options = append(params.Options, permissionOption{
			OptionID: answerOption(i), Name: option, Kind: acp.PermissionOptionKindAllowOnce})
	}
	params.Options = append(params.Options, permissionOption{
		OptionID: declineOption, Name: "Do not answer", Kind: acp.PermissionOptionKindRejectOnce})
	return params
}

func answerOption(i int) string { return fmt.Sprintf("answer_%d", i) }

// questionAnswer is the answer that an option stands for, if it is one.
func questionAnswer(q droid.Question, optionID string) (droid.Answer, bool) {
	for i, option := range q.Options {
		if answerOption(i) == optionID {
			return droid.Answer{Index: q.Index, Question: q.Question, Answer: option}, true
		}
	}
	return droid.Answer{}, false
}

func (s *Session) answerQuestions(requestID string, answers droid.Answers) {
	if s.client != nil {
		if err := s.client.AnswerQuestions(requestID, answers); err != nil {
			s.log.Warn("droid did not take the answer to its question", zap.Error(err))
		}
	}
	s.droidAnswered(requestID, answers.Cancelled)
}
