package telling

import (
	"cmp"
	"context"
	"slices"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/render"
)

// Questions are what the user is asked: one question at a time, in the order in which they were opened.
// The zero value has none; only who has the session's lock touches it.
type Questions struct {
	open []*Question // the first one is in front of the user
}

// Question is a permission, a question of droid's or one of this agent's.
type Question struct {
	Concurrent bool   // a subagent asks, while droid continues
	Session    string // of the subagent that asks, where that is shown as a session; "" for this one

	of      *Questions
	id      string // droid's request; "" for a question of this agent's own, which ends with its context
	outcome Outcome
	request interface{ Withdraw() bool } // the step that the editor has, nil between two
	waits   bool                         // in Await or Run
	ended   func(Outcome)                // see Open
}

// Outcome is the result of a question.
type Outcome int

const (
	// Stands: it was not withdrawn.
	Open Outcome = iota
	// Refused: it was taken back, and droid is to get a refusal.
	Refused
	// Withdrawn: it was withdrawn, and an answer is no longer awaited.
	Withdrawn
)

// Open opens a question behind those that are open. Close ends it, and so does who takes it back while it waits: ended, if not nil,
// is called then, with what became of it.
func (d *Questions) Open(id string, ended func(Outcome)) *Question {
	q := &Question{of: d, id: id, ended: ended}
	d.open = append(d.open, q)
	return q
}

// Await makes a question wait until ready reports that the user can be asked, which then Open, or until it is withdrawn, as when ctx
// ends.
func (q *Question) Await(ctx context.Context, w *Updates, ready func() bool) Outcome {
	q.wait(ctx, w, ready)
	return q.outcome
}

// wait waits until ready or the question is taken back, as when ctx ends.
func (q *Question) wait(ctx context.Context, w *Updates, ready func() bool) {
	q.waits = true
	defer func() { q.waits = false }()
	if w.monitor.Await(ctx, func() bool { return q.outcome != Open || ready() }) != nil {
		q.TakeBack()
	}
}

// Run asks the user one step after the other, when the questions before have ended. It returns early
// when the question is taken back, as when ctx ends.
func (q *Question) Run(ctx context.Context, w *Updates, steps render.Dialog) Outcome {
	q.wait(ctx, w, func() bool { return q.of.open[0] == q })
	for q.outcome == Open {
		step, more := steps.Next()
		if !more {
			break
		}
		if step.Form != nil {
			step.Form.SessionID = cmp.Or(q.Session, w.Session())
			filled := askStep[protocol.ElicitationResult](ctx, q, w, "elicitation/create", step.Form)
			if q.outcome == Open {
				steps.FormFilled(filled)
			}
			continue
		}
		step.Choice.SessionID = cmp.Or(q.Session, w.Session())
		picked := pickedOption(askStep[protocol.PermissionResult](ctx, q, w, acp.ClientMethodSessionRequestPermission, step.Choice))
		if q.outcome == Open && !steps.OptionChosen(picked) && picked != "" {
			w.log.Warn("the editor picked an option that was not offered; that is a refusal")
		}
	}
	return q.outcome
}

// askStep shows a step to the user and returns the answer: nil when the editor could not show the step
// or is gone, and when the question was taken back.
func askStep[T any](ctx context.Context, q *Question, w *Updates, method string, params any) (answer *T) {
	asked := SendRequest[T](w, method, params)
	q.request = asked
	q.wait(ctx, w, func() bool { return asked.ended })
	q.request = nil
	switch {
	case asked.err == nil && asked.ended:
		return &asked.result
	case asked.err != ErrWithdrawn:
		w.log.Info("the editor gave no answer to what it was to ask the user", zap.String("method", method), zap.Error(asked.err))
	}
	return nil
}

// Close ends the question, and says what became of it in the meantime. The next one is asked.
func (q *Question) Close() Outcome {
	d := q.of
	if i := slices.Index(d.open, q); i >= 0 {
		d.open = slices.Delete(d.open, i, i+1)
		if q.ended != nil {
			q.ended(q.outcome)
		}
	}
	return q.outcome
}

// TakeBack withdraws the question from the user. The caller that asked closes it.
func (q *Question) TakeBack() { q.takeBack(Withdrawn) }

// takeBack takes a question back from the user. Who asks closes it where it does not wait.
func (q *Question) takeBack(how Outcome) {
	if q.outcome != Open || !slices.Contains(q.of.open, q) {
		return
	}
	q.outcome = how
	if q.request != nil {
		q.request.Withdraw()
	}
	if q.waits {
		q.Close()
	}
}

// pickedOption is the id of the option that the user picked, "" when they picked none: they
// dismissed the choice, the editor failed, or it is gone.
func pickedOption(result *protocol.PermissionResult) string {
	if result == nil || result.Outcome.Outcome != "selected" {
		return ""
	}
	return result.Outcome.OptionID
}

// IsOpen reports whether the user is asked something.
func (d *Questions) IsOpen() bool { return len(d.open) > 0 }

// Block reports whether the user is asked something that the session waits for.
func (d *Questions) Block() bool {
	return slices.ContainsFunc(d.open, func(q *Question) bool { return !q.Concurrent })
}

// Withdraw takes back the question for a request of droid's, as droid waits no longer.
func (d *Questions) Withdraw(id string) {
	d.takeBack(Withdrawn, func(q *Question) bool { return q.id == id })
}

// DroidGone takes back droid's questions, without an answer to droid.
func (d *Questions) DroidGone() {
	d.takeBack(Withdrawn, func(q *Question) bool { return q.id != "" })
}

// Refuse takes back droid's questions; who asks gives droid the refusal then.
func (d *Questions) Refuse() { d.takeBack(Refused, func(q *Question) bool { return q.id != "" }) }

// End takes back all questions, as the session ends.
func (d *Questions) End() { d.takeBack(Withdrawn, func(*Question) bool { return true }) }

func (d *Questions) takeBack(how Outcome, which func(*Question) bool) {
	for _, q := range slices.Clone(d.open) {
		if which(q) {
			q.takeBack(how)
		}
	}
}
