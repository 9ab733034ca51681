package adapter

import (
	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
	"droid-acp/internal/telling"
)

// userDialog is the permission or the question that the user has in front of them, if any.
// There is one at a time.
type userDialog struct {
	open *openDialog
}

// openDialog is a request of droid's that waits for the user.
type openDialog struct {
	requestID string         // droid's
	refuse    func()         // gives droid the refusal
	closeUp   func()         // undoes what was shown for this dialog alone
	asked     *telling.Asked // the step that the editor has, nil between two
}

// begin opens a dialog.
func (d *userDialog) begin(o openDialog) *openDialog {
	d.open = &o
	return d.open
}

// isOpen reports whether the user is asked something.
func (d *userDialog) isOpen() bool { return d.open != nil }

// isFor reports whether the open dialog is the one for this request of droid's.
func (d *userDialog) isFor(requestID string) bool {
	return d.open != nil && d.open.requestID == requestID
}

// end closes the dialog for this request. It reports false when that dialog is not open
// any more: the answer came after a withdrawal, too late.
func (d *userDialog) end(requestID string) bool {
	if !d.isFor(requestID) {
		return false
	}
	d.take()
	return true
}

// withdraw takes the dialog for this request back from the editor, as droid waits no
// longer.
func (d *userDialog) withdraw(requestID string) {
	if d.isFor(requestID) {
		d.take().closeUp()
	}
}

// withdrawAny takes back whatever is open, without an answer to droid.
func (d *userDialog) withdrawAny() {
	if d.open != nil {
		d.take().closeUp()
	}
}

// refuse takes back whatever is open, and gives droid the refusal.
func (d *userDialog) refuse() {
	if d.open != nil {
		o := d.take()
		o.closeUp()
		o.refuse()
	}
}

// take closes the dialog: the editor is asked no longer.
func (d *userDialog) take() *openDialog {
	o := d.open
	d.open = nil
	if o.asked != nil {
		o.asked.Withdraw()
	}
	return o
}

// lead asks the user one step of a dialog after the other, and then does over. Nothing
// waits meanwhile; a dialog that is taken back goes no further.
func (s *Session) lead(o *openDialog, d show.Dialog, over func()) {
	step, more := d.Next()
	switch {
	case !more:
		over()
	case step.Form != nil:
		step.Form.SessionID = s.id
		ask(s, o, "elicitation/create", step.Form, func(result *protocol.ElicitationResult) {
			d.Filled(result)
			s.lead(o, d, over)
		})
	default:
		step.Choice.SessionID = s.id
		ask(s, o, acp.ClientMethodSessionRequestPermission, step.Choice, func(result *protocol.PermissionResult) {
			if option := pickedOption(result); !d.Chose(option) && option != "" {
				s.agent.log.Warn("the editor picked an option that was not offered; that is a refusal")
			}
			s.lead(o, d, over)
		})
	}
}

// ask shows a step of a dialog to the user. answered runs in the owner, while the dialog is
// open: with nil when the editor could not show the step, or is gone.
func ask[T any](s *Session, o *openDialog, method string, params any, answered func(*T)) {
	o.asked = telling.Ask(s.out, method, params, func(result T, err error) {
		o.asked = nil
		if err != nil {
			s.agent.log.Info("the editor gave no answer to what it was to ask the user", zap.String("method", method), zap.Error(err))
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
