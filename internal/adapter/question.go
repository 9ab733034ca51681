package adapter

import (
	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/telling"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// askQuestions shows droid's questions and gives droid the user's answers. droid always
// gets some: what the user said, that they declined or could not be asked, or "cancelled" when
// they dismissed the questions.
func (s *Session) askQuestions(ev quirks.QuestionAsked) {
	cancelled := stream.Answers{Cancelled: true}
	if s.ended || s.prompts.RunsCancelled() {
		s.answerQuestions(ev.RequestID, cancelled)
		return
	}
	q := s.show.Questions(ev)
	s.tell(q.Before...)
	if q.Refused {
		s.answerQuestions(ev.RequestID, q.Answers())
		return
	}
	closeUp := func() { s.tell(q.After...) }
	asked := &telling.Question{
		RequestID: ev.RequestID,
		Refuse:    func() { s.answerQuestions(ev.RequestID, cancelled) },
		CloseUp:   closeUp,
	}
	s.dialog.Open(s.out, asked, q, func() {
		s.dialog.End(asked)
		closeUp()
		s.tell(s.show.Unasked(q)...)
		s.answerQuestions(ev.RequestID, q.Answers())
	})
}

func (s *Session) answerQuestions(requestID string, answers stream.Answers) {
	if client := s.proc.Client(); client != nil {
		if err := client.AnswerQuestions(requestID, answers); err != nil {
			s.log.Warn("droid did not take the answer to its question", zap.Error(err))
		}
	}
	s.droidAnswered(requestID, answers.Cancelled)
}
