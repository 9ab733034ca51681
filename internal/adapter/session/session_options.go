package session

import (
	"context"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/jsonrpc"
)

// ListOptions returns the options as they are now. See Enter for ordered.
func (s *Session) ListOptions(ordered func()) (_ any, err *jsonrpc.Error) {
	if err = s.Enter(ordered); err != nil {
		return nil, err
	}
	defer s.Exit(&err)
	return s.deps.OptionsResult(&s.options), nil
}

// NewOptionState returns the state of the options before droid has said anything.
func (d *Deps) NewOptionState() options.State {
	return options.New(d.Config.Defaults.FollowUp, d.Client.BooleanOptions, d.Client.NarrowOptions)
}

// OptionsResult returns the options as the editor gets them.
func (d *Deps) OptionsResult(o *options.State) protocol.OptionsResult {
	return protocol.OptionsResult{Modes: d.Client.Modes(o.Modes()), ConfigOptions: o.ListUpdate().ConfigOptions}
}

// setFirst sets the options to the values that the request which opens the session has for them. A value that an option does not have is
// dropped, as ACP wants it.
func (s *Session) setFirst(ctx context.Context, values []options.Value) {
	for _, v := range values {
		if err := s.setOption(ctx, v.ID, v.Value); err != nil {
			s.log.Info("a first value was dropped", append(errorFields(err), zap.String("option", v.ID))...)
		}
	}
}
