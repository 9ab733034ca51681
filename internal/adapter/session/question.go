package session

import (
	"context"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/updates"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// questionRequest is a request of droid's with questions for the user.
type questionRequest struct {
	s     *Session
	id    string
	shown *render.Questions // nil before
}

// askQuestions shows droid's questions and gives droid the user's answers. droid always
// gets some: what the user said, that they declined or could not be asked, or "cancelled" when
// they dismissed the questions.
func (s *Session) askQuestions(ctx context.Context, ev quirks.QuestionRequested) {
	if s.proc.Client() == nil || s.proc.Ending() {
		return // nobody waits for the answer any more
	}
	r := &questionRequest{s: s, id: ev.RequestID}
	if s.ended || s.prompts.RefusesQuestions() {
		r.close(updates.Refused)
		return
	}
	q := s.questions.Open(ev.RequestID, r.close)
	defer q.Close()
	if s.awaitAskable(ctx, q) != updates.NotWithdrawn {
		return
	}
	r.shown = s.show.Questions(ev)
	s.update(r.shown.Before...)
	if !r.shown.Refused {
		q.Run(ctx, s.out, r.shown)
	}
}

// close ends the request as its question ends, see Questions.Open.
func (r *questionRequest) close(outcome updates.Outcome) {
	s, answers := r.s, stream.Answers{Cancelled: true}
	if r.shown != nil {
		s.update(r.shown.After...)
	}
	if r.shown != nil && outcome == updates.NotWithdrawn {
		answers = r.shown.Answers()
		if !r.shown.Refused {
			s.update(s.show.ShowUnasked(r.shown)...)
		}
	}
	if outcome == updates.Unanswered {
		return // droid does not wait for an answer
	}
	if client := s.proc.Client(); client != nil {
		if err := client.AnswerQuestions(r.id, answers); err != nil {
			s.log.Warn("droid did not take the answer to its question", zap.Error(err))
		}
	}
	s.droidHasAnswer(r.id, answers.Cancelled)
}

// openQuestion is a question of this agent's own that the user has not answered.
type openQuestion struct {
	*updates.Question
	words *render.AgentPrompt
	not   string // is shown if there is no answer
	over  bool   // not was shown
}

// asks asks the user something for a prompt, and reports whether they answered, or did not within a limit (0 for none). If that passes, or ctx
// or the prompt ends, the question is withdrawn and not is shown before the response: some clients show nothing after it.
func (p *userPrompt) asks(ctx context.Context, words *render.AgentPrompt, not string, limit time.Duration) (answered, late bool) {
	p.s.update(words.Before...)
	q := &openQuestion{Question: p.s.questions.Open("", nil), words: words, not: not}
	defer q.Close()
	q.Limit, p.question = limit, q
	answered = q.Run(ctx, p.s.out, words) == updates.NotWithdrawn
	if !answered && !q.over {
		p.s.update(words.End(not)...)
	}
	if p.question == q {
		p.question = nil
	}
	return answered, q.Late
}

// withdrawQuestion withdraws the open question to the user, if any, and shows that.
func (p *userPrompt) withdrawQuestion() {
	if q := p.question; q != nil {
		p.question, q.over = nil, true
		q.Withdraw()
		p.s.update(q.words.End(q.not)...)
	}
}
