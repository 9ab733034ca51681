package adapter

import (
	"context"
	"errors"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// The agent finds an open session by each id of its thread: those of the sessions
// that droid made for it (after /compact and /rewind), also before this agent was
// started. So no session of droid's is open in two processes, whichever of the ids is
// used. What is asked of it takes effect in order, see package registry.

// ticket is a request's place among all that name a session.
type ticket = registry.Ticket[*Session]

// checkSessionID refuses an id that could not be the name of a file in droid's
// store. All methods that name a session call it.
func checkSessionID(id string) *jsonrpc.Error {
	switch {
	case id == "":
		return acperr.InvalidParams("sessionId is missing")
	case !stream.ValidSessionID(id):
		return acperr.InvalidParams("sessionId %.80q is not a valid session id; session/list returns those that there are", id)
	}
	return nil
}

// idOf is the id of the session that the params of a call name.
func idOf(c *wire.Call) (string, *jsonrpc.Error) {
	var params struct {
		SessionID string `json:"sessionId"`
	}
	if err := acperr.Decode(c.Params, &params); err != nil {
		return "", err
	}
	return params.SessionID, checkSessionID(params.SessionID)
}

// Hurry has a process that leaves do so at once.
func (s *Session) Hurry() { s.proc.ForceStop() }

// arrive gives a call its place behind all that came before, and lets the next line come.
func (a *Agent) arrive(c *wire.Call, id string, kind registry.Kind) *ticket {
	defer c.Async()
	return a.sessions.Arrive(id, c.Method, kind)
}

// turnOf waits for the turn of a place, which Acted ends.
func turnOf(ctx context.Context, p *ticket) *jsonrpc.Error { return placeError(p.Lock(ctx)) }

// placeError answers a request that the registry does not let act.
func placeError(err error) *jsonrpc.Error {
	switch {
	case errors.Is(err, registry.ErrCancelled):
		return acperr.Cancelled()
	case err != nil:
		return acperr.Ending()
	}
	return nil
}

// reach finds the session that a call names when its turn has come. The caller leaves the
// place when the call has taken effect.
func (a *Agent) reach(c *wire.Call) (*Session, *ticket, *jsonrpc.Error) {
	id, err := idOf(c)
	if err != nil {
		return nil, nil, err
	}
	kind := registry.Asks
	if c.Method == acp.AgentMethodSessionPrompt {
		kind = registry.Prompts
	}
	p := a.arrive(c, id, kind)
	if err := turnOf(c.Context, p); err != nil {
		p.Release()
		return nil, nil, err
	}
	s, known := p.Open()
	p.Unlock()
	if !known {
		p.Release()
		return nil, nil, acperr.UnknownSession(id)
	}
	return s, p, nil
}

// cancelIfLate does the cancel that came while a prompt was on its way to the session.
func (s *Session) cancelIfLate(p *ticket) {
	if p.WasCancelled() {
		s.cancelPrompts()
	}
}
