package adapter

import (
	"context"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// methodOptions asks for the options of a session that is not open, or not there yet (unstable in ACP, schema 1.32).
const methodOptions = "session/options"

// sessionOptions answers with the options that a session would have. It opens and stores nothing.
func (a *Agent) sessionOptions(c *wire.Call) (any, *jsonrpc.Error) {
	var p instructions.Params
	if err := acperr.Decode(c.Params, &p); err != nil {
		return nil, err
	}
	if p.SessionID == "" {
		c.Async()
		return a.newOptions(c, p, nil)
	}
	if err := checkSessionID(p.SessionID); err != nil {
		return nil, err
	}
	place := a.arrive(c, p.SessionID, registry.Asks)
	defer place.Release()
	s, ids, err := a.openOf(c.Context, place)
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		return s.optionsNow(place.Release)
	}
	stored, failure := a.opener.StoredSettings(c.Context, ids[len(ids)-1])
	if failure != nil {
		return nil, acperr.UnknownSession(p.SessionID)
	}
	return a.newOptions(c, p, &stored)
}

// optionsNow are the options of an open session.
func (s *Session) optionsNow(ordered func()) (_ any, err *jsonrpc.Error) {
	if err = s.enter(ordered); err != nil {
		return nil, err
	}
	defer s.exit(&err)
	return s.deps.optionsResult(&s.options), nil
}

// newOptions are the options of a new session, or of one that has stored settings.
func (a *Agent) newOptions(c *wire.Call, p instructions.Params, stored *stream.Settings) (any, *jsonrpc.Error) {
	w, err := a.readSession(c.Context, p)
	if err != nil {
		return nil, err
	}
	preview, failure := a.opener.Preview(c.Context, w.CWD)
	if failure != nil {
		return nil, acperr.NotOpened("", failure)
	}
	if stored != nil {
		preview.Settings = preview.Settings.Merge(*stored)
	}
	state := a.newOptionState()
	state.Offered(preview.Models)
	state.SetLoggedOut(preview.LoggedOut)
	state.Reported(preview.Settings)
	return a.optionsResult(&state), nil
}

// newOptionState is the state of the options before droid has said anything.
func (d *Deps) newOptionState() options.State {
	return options.New(d.cfg.Defaults.FollowUp, d.client.BooleanOptions, d.client.NarrowOptions)
}

func (d *Deps) optionsResult(o *options.State) protocol.OptionsResult {
	return protocol.OptionsResult{Modes: d.client.Modes(o.Modes()), ConfigOptions: o.ListUpdate().ConfigOptions}
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
