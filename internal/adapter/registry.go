package adapter

import (
	"context"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// The agent finds an open session by each id of its thread: those of the sessions
// that droid made for it (after /compact and /rewind), also before this agent was
// started. So no session of droid's is open in two processes, whichever of the ids is
// used. What is asked of it takes effect in order, see package registry.

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

// sessionID is the id of the session that the params of a call name.
func sessionID(c *wire.Call) (string, *jsonrpc.Error) {
	var params struct {
		SessionID string `json:"sessionId"`
	}
	if err := acperr.Decode(c.Params, &params); err != nil {
		return "", err
	}
	return params.SessionID, checkSessionID(params.SessionID)
}

// enqueue gives a call its place behind all that came before, and lets the next line come.
func (a *Agent) enqueue(c *wire.Call, id string, kind registry.Kind) *session.Ticket {
	defer c.Async()
	return a.Sessions.Enqueue(id, c.Method, kind)
}

// lock waits for the turn of a place, which Unlock ends.
func lock(ctx context.Context, p *session.Ticket) *jsonrpc.Error {
	return session.TicketError(p.Lock(ctx))
}

// lookup finds the session that a call names when its turn has come. The caller leaves the
// place when the call has taken effect.
func (a *Agent) lookup(c *wire.Call) (*session.Session, *session.Ticket, *jsonrpc.Error) {
	id, err := sessionID(c)
	if err != nil {
		return nil, nil, err
	}
	kind := registry.Uses
	if c.Method == acp.AgentMethodSessionPrompt {
		kind = registry.Prompts
	}
	p := a.enqueue(c, id, kind)
	if err := lock(c.Context, p); err != nil {
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

// threadAt finds the ids of the thread that a request is about, the oldest first, when its
// turn has come.
func (a *Agent) threadAt(ctx context.Context, p *session.Ticket) ([]string, *jsonrpc.Error) {
	if err := lock(ctx, p); err != nil {
		return nil, err
	}
	p.Unlock()
	ids, err := a.Threads.IDs(ctx, p.ID())
	if err != nil {
		return nil, acperr.NotDone(acperr.Opening, err)
	}
	p.SetIDs(ids)
	return ids, nil
}

// openOf finds the open session of a thread, by whichever id, when the request's turn has
// come. If there is none, the request keeps the thread's files until it leaves its place.
func (a *Agent) openOf(ctx context.Context, p *session.Ticket) (s *session.Session, ids []string, err *jsonrpc.Error) {
	if ids, err = a.threadAt(ctx, p); err != nil {
		return nil, nil, err
	}
	if err = lock(ctx, p); err != nil {
		return nil, nil, err
	}
	defer p.Unlock()
	if open := p.All(); len(open) > 0 {
		return open[0], ids, nil
	}
	p.UseFiles()
	return nil, ids, nil
}

// takeThread finds the open session of the thread that the params name, by whichever
// id, or makes one that works on the thread's newest session. It returns the thread's
// ids, too.
func (a *Agent) takeThread(ctx context.Context, at *session.Ticket, w instructions.Wanted) (s *session.Session, known bool, ids []string, err *jsonrpc.Error) {
	if ids, err = a.threadAt(ctx, at); err != nil {
		return nil, false, nil, err
	}
	newest := ids[len(ids)-1]
	search := append([]string{w.SessionID}, ids...) // the id that was asked for counts most, then the newest
	slices.Reverse(search[1:])
	if err = lock(ctx, at); err != nil {
		return nil, false, nil, err
	}
	s, known = a.findOrBegin(at, search, newest, w)
	return s, known, ids, nil
}

// findOrBegin is takeThread in its turn.
func (a *Agent) findOrBegin(at *session.Ticket, ids []string, newest string, w instructions.Wanted) (s *session.Session, known bool) {
	defer at.Unlock()
	if s, known = at.Find(ids); known {
		at.AddIDs(s, ids) // another session may have one, which then stays apart
		return s, true
	}
	s = session.New(&a.Deps, w.SessionID, newest, w.CWD, w.Servers)
	at.Begin(s, ids)
	return s, false
}
