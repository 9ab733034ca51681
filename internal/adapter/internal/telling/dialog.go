package telling

import (
	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/show"
)

// Dialog is the permission or the question that the user has in front of them, if any.
// There is one at a time. The zero value is none; only the session's owner touches it.
type Dialog struct {
	open *Question
}

// Question is a request of droid's that waits for the user.
type Question struct {
	RequestID string // droid's
	Refuse    func() // gives droid the refusal
	CloseUp   func() // undoes what was shown for this dialog alone

	asked *Asked // the step that the editor has, nil between two
}

// Open asks the user one step of q after the other, and then does over. Nothing waits
// meanwhile; what is taken back goes no further.
func (d *Dialog) Open(w *Way, q *Question, steps show.Dialog, over func()) {
	d.open = q
	d.lead(w, q, steps, over)
}

func (d *Dialog) lead(w *Way, q *Question, steps show.Dialog, over func()) {
	step, more := steps.Next()
	switch {
	case !more:
		over()
	case step.Form != nil:
		step.Form.SessionID = w.Session()
		askStep(w, q, "elicitation/create", step.Form, func(result *protocol.ElicitationResult) {
			steps.Filled(result)
			d.lead(w, q, steps, over)
		})
	default:
		step.Choice.SessionID = w.Session()
		askStep(w, q, acp.ClientMethodSessionRequestPermission, step.Choice, func(result *protocol.PermissionResult) {
			if option := pickedOption(result); !steps.Chose(option) && option != "" {
				w.log.Warn("the editor picked an option that was not offered; that is a refusal")
			}
			d.lead(w, q, steps, over)
		})
	}
}

// askStep shows a step to the user. answered runs in the owner, while the dialog is
// open: with nil when the editor could not show the step, or is gone.
func askStep[T any](w *Way, q *Question, method string, params any, answered func(*T)) {
	q.asked = Ask(w, method, params, func(result T, err error) {
		q.asked = nil
		if err != nil {
			w.log.Info("the editor gave no answer to what it was to ask the user", zap.String("method", method), zap.Error(err))
			answered(nil)
			return
		}
		answered(&result)
	})
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
func (d *Dialog) IsOpen() bool { return d.open != nil }

// IsFor reports whether what the user is asked is for this request of droid's.
func (d *Dialog) IsFor(requestID string) bool { return d.open != nil && d.open.RequestID == requestID }

// Waits reports whether the user has q in front of them.
func (d *Dialog) Waits(q *Question) bool { return d.open == q && q.asked != nil }

// End closes the dialog in which q is asked. It reports false when that is not open any more: q was
// withdrawn, and another one may have been asked since.
func (d *Dialog) End(q *Question) bool {
	if d.open != q {
		return false
	}
	d.take()
	return true
}

// Withdraw takes the dialog for this request back from the editor, as droid waits no
// longer.
func (d *Dialog) Withdraw(requestID string) {
	if d.IsFor(requestID) {
		d.WithdrawAny()
	}
}

// WithdrawAny takes back whatever is open, without an answer to droid.
func (d *Dialog) WithdrawAny() {
	if d.open != nil {
		d.take().CloseUp()
	}
}

// Refuse takes back whatever is open, and gives droid the refusal.
func (d *Dialog) Refuse() {
	if d.open != nil {
		q := d.take()
		q.CloseUp()
		q.Refuse()
	}
}

// take closes the dialog: the editor is asked no longer.
func (d *Dialog) take() *Question {
	q := d.open
	d.open = nil
	if q.asked != nil {
		q.asked.Withdraw()
	}
	return q
}
