package updates

import (
	"cmp"
	"context"
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/render"
)

// Questions holds the questions to the user, who is asked one at a time, in the order in which they were opened.
// The zero value is empty. The caller of each method must hold the session's lock.
type Questions struct {
	open []*Question // the user is asked the first one
}

// Question is a permission request, a question of droid's or one of this agent's.
type Question struct {
	Concurrent bool   // a subagent asks, while droid continues, so that prompts do not wait for the answer, see Block
	Session    string // of the subagent that asks, where that is shown as a session; "" for this one

	// Limit bounds how long Run waits for the user from when they are asked, which is when the earlier questions have ended; 0 for no limit.
	Limit time.Duration
	Late  bool // the limit has passed, and the question was withdrawn

	of         *Questions
	id         string // of droid's request; "" for a question of this agent, which ends with its context
	outcome    Outcome
	request    interface{ Withdraw() bool } // the step that was sent to the editor, nil between two
	awaitsUser bool                         // in WaitUntil or Run; else it was answered, and the answer is being prepared
	cancel     context.CancelFunc           // of Context, nil before
	atEnd      func(Outcome)                // see Questions.Open
}

// Outcome is the result of a question.
type Outcome int

const (
	// NotWithdrawn: the question was answered, is open, or could not be shown by the editor.
	NotWithdrawn Outcome = iota
	// Refused: it was withdrawn, and droid must get a refusal.
	Refused
	// Unanswered: it was withdrawn, and nothing answers it, as droid no longer waits or has not asked.
	Unanswered
)

// Open adds a question behind the open ones. Close ends it, as does withdrawing it while it waits; then atEnd is called with its outcome,
// unless it is nil. It is called in the goroutine that withdraws the question, possibly within an action of the turn machine, so it must not
// release the lock.
func (d *Questions) Open(id string, atEnd func(Outcome)) *Question {
	q := &Question{of: d, id: id, atEnd: atEnd}
	d.open = append(d.open, q)
	return q
}

// WaitUntil makes a question wait until ready reports that the user can be asked, or until it is withdrawn, as when ctx ends.
func (q *Question) WaitUntil(ctx context.Context, s *Sender, ready func() bool) Outcome {
	q.wait(ctx, s, ready)
	return q.outcome
}

// wait waits until ready returns true or the question is withdrawn, which the end of ctx does.
func (q *Question) wait(ctx context.Context, s *Sender, ready func() bool) {
	q.awaitsUser = true
	defer func() { q.awaitsUser = false }()
	if s.monitor.Await(ctx, func() bool { return q.outcome != NotWithdrawn || ready() }) != nil {
		q.Withdraw()
	}
}

// Run asks the user one step after the other, when the earlier questions have ended. It returns early
// if the question is withdrawn, which the end of ctx does.
func (q *Question) Run(ctx context.Context, s *Sender, steps render.Dialog) Outcome {
	q.wait(ctx, s, func() bool { return q.of.open[0] == q })
	if q.Limit > 0 {
		limit, cancel := context.WithTimeout(ctx, q.Limit)
		defer cancel()
		ctx = limit
		defer func() { q.Late = q.outcome == Unanswered && limit.Err() == context.DeadlineExceeded }()
	}
	for q.outcome == NotWithdrawn {
		step, more := steps.Next()
		if !more {
			break
		}
		if step.Form != nil {
			step.Form.SessionID = cmp.Or(q.Session, s.Session())
			filled := askStep[protocol.ElicitationResult](ctx, q, s, "elicitation/create", step.Form)
			if q.outcome == NotWithdrawn {
				steps.FormFilled(filled)
			}
			continue
		}
		step.Choice.SessionID = cmp.Or(q.Session, s.Session())
		picked := pickedOption(askStep[protocol.PermissionResult](ctx, q, s, acp.ClientMethodSessionRequestPermission, step.Choice))
		if q.outcome == NotWithdrawn && !steps.OptionChosen(picked) && picked != "" {
			s.log.Warn("the editor picked an option that was not offered; that is a refusal")
		}
	}
	return q.outcome
}

// askStep sends a step to the editor and returns the answer: nil if the editor could not show the step
// or is gone, and if the question was withdrawn.
func askStep[T any](ctx context.Context, q *Question, s *Sender, method string, params any) (answer *T) {
	asked := SendRequest[T](s, method, params)
	q.request = asked
	q.wait(ctx, s, func() bool { return asked.ended })
	q.request = nil
	switch {
	case asked.err == nil && asked.ended:
		return &asked.result
	case asked.err != ErrWithdrawn:
		s.log.Info("the editor gave no answer to what it was to ask the user", zap.String("method", method), zap.Error(asked.err))
	}
	return nil
}

// Close ends the question, so that the next one is asked, and returns its outcome.
func (q *Question) Close() Outcome {
	d := q.of
	if i := slices.Index(d.open, q); i >= 0 {
		d.open = slices.Delete(d.open, i, i+1)
		if q.atEnd != nil {
			q.atEnd(q.outcome)
		}
	}
	return q.outcome
}

// Withdraw withdraws the question. The caller of Questions.Open must close it.
func (q *Question) Withdraw() { q.setOutcome(Unanswered) }

// Context returns a context that ends with ctx, and as soon as the question is withdrawn; at once if it was before. The caller must call
// cancel.
func (q *Question) Context(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	ctx, q.cancel = context.WithCancel(ctx)
	if q.IsWithdrawn() {
		q.cancel()
	}
	return ctx, q.cancel
}

// IsWithdrawn reports whether the question was withdrawn.
func (q *Question) IsWithdrawn() bool { return q.outcome != NotWithdrawn }

// setOutcome sets the outcome of a question. The question closes at once if it waits for the user, or if nothing answers it; a refusal of one
// whose answer is being prepared is given when the caller of Questions.Open closes it, unless droid has ended by then.
func (q *Question) setOutcome(how Outcome) {
	if q.outcome != NotWithdrawn && how != Unanswered || !slices.Contains(q.of.open, q) {
		return
	}
	q.outcome = how
	if q.request != nil {
		q.request.Withdraw()
	}
	if q.cancel != nil {
		q.cancel()
	}
	if q.awaitsUser || how == Unanswered {
		q.Close()
	}
}

// pickedOption returns the ID of the option that the user picked, "" if none: the user
// dismissed the choice, or the editor failed or is gone.
func pickedOption(result *protocol.PermissionResult) string {
	if result == nil || result.Outcome.Outcome != "selected" {
		return ""
	}
	return result.Outcome.OptionID
}

// IsOpen reports whether there is an open question. Its answer may be known, and is then being prepared.
func (d *Questions) IsOpen() bool { return len(d.open) > 0 }

// AwaitUser reports whether an open question waits for the user's answer.
func (d *Questions) AwaitUser() bool {
	return slices.ContainsFunc(d.open, func(q *Question) bool { return q.awaitsUser })
}

// Block reports whether the session itself waits for the user's answer.
func (d *Questions) Block() bool {
	return slices.ContainsFunc(d.open, func(q *Question) bool { return q.awaitsUser && !q.Concurrent })
}

// Withdraw withdraws the question for a request of droid's, because droid no longer waits for it.
func (d *Questions) Withdraw(id string) {
	d.withdraw(Unanswered, func(q *Question) bool { return q.id == id })
}

// DroidExited withdraws the questions of a droid that has exited, or was replaced, without an answer to it.
func (d *Questions) DroidExited() {
	d.withdraw(Unanswered, func(q *Question) bool { return q.id != "" })
}

// Refuse withdraws droid's questions. The function given to Questions.Open then refuses them to droid: at once if they wait, otherwise
// when they are closed.
func (d *Questions) Refuse() { d.withdraw(Refused, func(q *Question) bool { return q.id != "" }) }

// End withdraws all questions, because the session ends.
func (d *Questions) End() { d.withdraw(Unanswered, func(*Question) bool { return true }) }

func (d *Questions) withdraw(how Outcome, which func(*Question) bool) {
	for _, q := range slices.Clone(d.open) {
		if which(q) {
			q.setOutcome(how)
		}
	}
}
