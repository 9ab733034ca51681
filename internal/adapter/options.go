package adapter

import (
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/internal/registry"
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
	ticket := a.enqueue(c, p.SessionID, registry.Uses)
	defer ticket.Release()
	s, ids, err := a.openOf(c.Context, ticket)
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		return s.ListOptions(ticket.Release)
	}
	stored, failure := a.Launcher.StoredSettings(c.Context, ids[len(ids)-1])
	if failure != nil {
		return nil, acperr.UnknownSession(p.SessionID)
	}
	return a.newOptions(c, p, &stored)
}

// newOptions returns the options of a new session, or of one that has stored settings.
func (a *Agent) newOptions(c *wire.Call, p instructions.Params, stored *stream.Settings) (any, *jsonrpc.Error) {
	w, err := a.readSession(c.Context, p)
	if err != nil {
		return nil, err
	}
	preview, failure := a.Launcher.Preview(c.Context, w.CWD)
	if failure != nil {
		return nil, acperr.NotOpened("", failure)
	}
	if stored != nil {
		preview.Settings = preview.Settings.Merge(*stored)
	}
	state := a.NewOptionState()
	state.Offered(preview.Models)
	state.SetLoggedOut(preview.LoggedOut)
	state.Reported(preview.Settings)
	return a.OptionsResult(&state), nil
}
