package adapter

import (
	"context"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/internal/telling"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
)

// askQuestions shows droid's questions and gives droid the user's answers. droid always
// gets some: what the user said, that they declined or could not be asked, or "cancelled" when
// they dismissed the questions.
func (s *Session) askQuestions(t *owner.Task, ev quirks.QuestionAsked) {
	cancelled := stream.Answers{Cancelled: true}
	if s.proc.Client() == nil {
		return // it has died meanwhile
	}
	if s.ended || s.prompts.RunsCancelled() {
		s.answerQuestions(ev.RequestID, cancelled)
		return
	}
	q := s.openQuestion(t, ev.RequestID, false)
	defer q.Close()
	asked := s.show.Questions(ev)
	s.tell(asked.Before...)
	if asked.Refused {
		s.answerQuestions(ev.RequestID, asked.Answers())
		return
	}
	q.Lead(s.Context, t, s.out, asked)
	outcome := q.Close()
	s.tell(asked.After...)
	switch outcome {
	case telling.Answered:
		s.tell(s.show.Unasked(asked)...)
		s.answerQuestions(ev.RequestID, asked.Answers())
	case telling.Refused:
		s.answerQuestions(ev.RequestID, cancelled)
	}
}

// ask asks the user a question of this agent's own. It reports whether they answered: not when ctx
// ended before.
func (s *Session) ask(ctx context.Context, t *owner.Task, asked *show.OwnQuestion) (answered bool) {
	s.tell(asked.Before...)
	q := s.questions.Open("")
	defer q.Close()
	return q.Lead(ctx, t, s.out, asked) == telling.Answered
}

func (s *Session) answerQuestions(requestID string, answers stream.Answers) {
	if client := s.proc.Client(); client != nil {
		if err := client.AnswerQuestions(requestID, answers); err != nil {
			s.log.Warn("droid did not take the answer to its question", zap.Error(err))
		}
	}
	s.droidHasAnswer(requestID, answers.Cancelled)
}
