package adapter

import (
	"context"
	"slices"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/wire"
)

// ask is a permission or a question that the user has in front of them. There
// is one at a time.
type ask struct {
	requestID string             // droid's
	cancel    context.CancelFunc // takes it back from the editor
	refuse    func()             // gives droid the refusal
	closeUp   func()             // undoes what was shown for it alone
}

// choose shows a choice to the user and returns the option picked, or "" when
// none was: cancelled, not offered, an error, or the editor is gone. A choice that
// was taken back before is not shown.
func (s *Session) choose(ctx context.Context, params protocol.PermissionParams) string {
	if ctx.Err() != nil {
		return ""
	}
	options := params.Options
	if !s.agent.client.OptionNames {
		params.Options = namedByKind(options)
	}
	result, err := wire.Request[protocol.PermissionResult](ctx, s.agent.conn, acp.ClientMethodSessionRequestPermission, params)
	if err != nil {
		s.agent.log.Info("the editor gave no answer to a permission request; that is a refusal", zap.Error(err))
		return ""
	}
	if result.Outcome.Outcome != "selected" {
		return ""
	}
	for i, o := range params.Options {
		if o.OptionID == result.Outcome.OptionID {
			return options[i].OptionID
		}
	}
	s.agent.log.Warn("the editor picked an option that was not offered; that is a refusal")
	return ""
}

// namedByKind gives each option its kind for an id, where there is one of a kind: of
// the clients that act on the kind, avante knows these ids alone.
func namedByKind(options []protocol.PermissionOption) []protocol.PermissionOption {
	named := slices.Clone(options)
	for i, o := range options {
		if slices.ContainsFunc(named[:i], func(other protocol.PermissionOption) bool { return other.OptionID == string(o.Kind) }) {
			return options
		}
		named[i].OptionID = string(o.Kind)
	}
	return named
}

// begin makes a the open ask. Its context ends when it is withdrawn.
func (s *Session) beginAsk(a *ask) context.Context {
	ctx, cancel := context.WithCancel(s.agent.ctx)
	a.cancel = cancel
	s.ask = a
	return ctx
}

// endAsk closes the open ask if it is the one for requestID. It reports whether
// it was: an answer that comes after a withdrawal is too late.
func (s *Session) endAsk(requestID string) bool {
	if s.ask == nil || s.ask.requestID != requestID {
		return false
	}
	s.ask.cancel()
	s.ask = nil
	return true
}

// askWithdrawn follows droid, which no longer waits.
func (s *Session) askWithdrawn(requestID string) {
	if s.ask == nil || s.ask.requestID != requestID {
		return
	}
	s.withdrawAsk()
}

// withdrawAsk takes the open ask back from the editor without an answer to
// droid.
func (s *Session) withdrawAsk() {
	if a := s.ask; a != nil {
		s.endAsk(a.requestID)
		a.closeUp()
	}
}

// refuseAsk answers the open ask with a refusal and takes it back from the
// editor.
func (s *Session) refuseAsk() {
	if a := s.ask; a != nil {
		s.endAsk(a.requestID)
		a.closeUp()
		a.refuse()
	}
}

// refusePermission tells droid "cancel".
func (s *Session) refusePermission(requestID string) {
	s.answerPermission(requestID, stream.OptionCancel)
}

// answerPermission gives droid its answer.
func (s *Session) answerPermission(requestID, option string) {
	if client := s.proc.client(); client != nil {
		if err := client.AnswerPermission(requestID, option); err != nil {
			s.log.Warn("droid did not take the answer to a permission request", zap.Error(err))
		}
	}
	s.droidAnswered(requestID, option == stream.OptionCancel)
}
