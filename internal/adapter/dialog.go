package adapter

import (
	"context"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/protocol"
	"droid-acp/internal/show"
	"droid-acp/internal/wire"
)

// userDialog is the permission or the question that the user has in front of them, if any.
// There is one at a time.
type userDialog struct {
	open *openDialog
}

// openDialog is a request of droid's that waits for the user.
type openDialog struct {
	requestID string             // droid's
	refuse    func()             // gives droid the refusal
	closeUp   func()             // undoes what was shown for this dialog alone
	cancel    context.CancelFunc // takes it back from the editor
}

// begin opens a dialog. The context that it returns ends when the dialog does.
func (d *userDialog) begin(ctx context.Context, o openDialog) context.Context {
	ctx, o.cancel = context.WithCancel(ctx)
	d.open = &o
	return ctx
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
	o.cancel()
	return o
}

// lead asks the user one step of a dialog after the other, beside the owner, until the
// dialog is over.
func (s *Session) lead(ctx context.Context, session string, d show.Dialog) {
	for step, more := d.Next(); more; step, more = d.Next() {
		if step.Form != nil {
			step.Form.SessionID = session
			d.Filled(s.fill(ctx, *step.Form))
			continue
		}
		step.Choice.SessionID = session
		option := s.choose(ctx, *step.Choice)
		if !d.Chose(option) && option != "" {
			s.agent.log.Warn("the editor picked an option that was not offered; that is a refusal")
		}
	}
}

// choose shows a choice to the user and returns the id of the option that they picked,
// or "" when they picked none: they dismissed it, the editor failed, or it is gone. A
// choice that was taken back before is not shown.
func (s *Session) choose(ctx context.Context, params protocol.PermissionParams) string {
	if ctx.Err() != nil {
		return ""
	}
	result, err := wire.Request[protocol.PermissionResult](ctx, s.agent.conn, acp.ClientMethodSessionRequestPermission, params)
	if err != nil {
		s.agent.log.Info("the editor gave no answer to a permission request; that is a refusal", zap.Error(err))
		return ""
	}
	if result.Outcome.Outcome != "selected" {
		return ""
	}
	return result.Outcome.OptionID
}

// fill shows a form to the user and returns what became of it, nil when it could not be
// shown.
func (s *Session) fill(ctx context.Context, params protocol.ElicitationParams) *protocol.ElicitationResult {
	result, err := wire.Request[protocol.ElicitationResult](ctx, s.agent.conn, "elicitation/create", params)
	if err != nil {
		s.agent.log.Info("the editor did not show a form", zap.Error(err))
		return nil
	}
	return &result
}
