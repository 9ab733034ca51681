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

// The agent finds an open session by each ID of its thread: those of the sessions
// that droid made for it (after /compact and /rewind), also before this agent was
// started. So none of droid's sessions is open in two processes, whichever of the IDs a
// client uses. Requests take effect in order, see package registry.

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

// sessionID returns the id of the session that the params of a call name.
func sessionID(c *wire.Call) (string, *jsonrpc.Error) {
	var params struct {
		SessionID string `json:"sessionId"`
	}
	if err := acperr.Decode(c.Params, &params); err != nil {
		return "", err
	}
	return params.SessionID, checkSessionID(params.SessionID)
}

// enqueue queues a call behind the earlier ones, and lets the connection read the next line.
func (a *Agent) enqueue(c *wire.Call, id string, kind registry.Kind) *session.Ticket {
	defer c.Async()
	return a.Sessions.Enqueue(id, c.Method, kind)
}

// lock is Ticket.Lock with an error for the client.
func lock(ctx context.Context, ticket *session.Ticket) *jsonrpc.Error {
	return session.TicketError(ticket.Lock(ctx))
}

// lookup returns the session that a call names when the earlier calls have taken effect. The caller must release
// the ticket when this one has.
func (a *Agent) lookup(c *wire.Call) (*session.Session, *session.Ticket, *jsonrpc.Error) {
	id, err := sessionID(c)
	if err != nil {
		return nil, nil, err
	}
	kind := registry.Uses
	if c.Method == acp.AgentMethodSessionPrompt {
		kind = registry.Prompts
	}
	ticket := a.enqueue(c, id, kind)
	if err := lock(c.Context, ticket); err != nil {
		ticket.Release()
		return nil, nil, err
	}
	s, known := ticket.Open()
	ticket.Unlock()
	if !known {
		ticket.Release()
		return nil, nil, acperr.UnknownSession(id)
	}
	return s, ticket, nil
}

// threadAt returns the IDs of the thread that a request is about, the oldest first, when
// the earlier requests have taken effect.
func (a *Agent) threadAt(ctx context.Context, ticket *session.Ticket) ([]string, *jsonrpc.Error) {
	if err := lock(ctx, ticket); err != nil {
		return nil, err
	}
	ticket.Unlock()
	ids, err := a.Threads.IDs(ctx, ticket.ID())
	if err != nil {
		return nil, acperr.NotDone(acperr.Opening, err)
	}
	ticket.SetIDs(ids)
	return ids, nil
}

// openOf returns the open session of a thread, by any of its IDs, when the earlier requests have taken effect.
// If there is none, the request uses the thread's files until its ticket is released.
func (a *Agent) openOf(ctx context.Context, ticket *session.Ticket) (s *session.Session, ids []string, err *jsonrpc.Error) {
	if ids, err = a.threadAt(ctx, ticket); err != nil {
		return nil, nil, err
	}
	if err = lock(ctx, ticket); err != nil {
		return nil, nil, err
	}
	defer ticket.Unlock()
	if open := ticket.All(); len(open) > 0 {
		return open[0], ids, nil
	}
	ticket.UseFiles()
	return nil, ids, nil
}

// takeThread returns the open session of the thread that the params name, by any of its IDs,
// or begins one that works on the thread's newest session. It also returns the thread's
// IDs.
func (a *Agent) takeThread(ctx context.Context, ticket *session.Ticket, w instructions.Wanted) (s *session.Session, known bool, ids []string, err *jsonrpc.Error) {
	if ids, err = a.threadAt(ctx, ticket); err != nil {
		return nil, false, nil, err
	}
	newest := ids[len(ids)-1]
	search := append([]string{w.SessionID}, ids...) // the id that was asked for counts most, then the newest
	slices.Reverse(search[1:])
	if err = lock(ctx, ticket); err != nil {
		return nil, false, nil, err
	}
	s, known = a.findOrBegin(ticket, search, newest, w)
	return s, known, ids, nil
}

// findOrBegin is takeThread with the ticket locked, which it unlocks.
func (a *Agent) findOrBegin(ticket *session.Ticket, ids []string, newest string, w instructions.Wanted) (s *session.Session, known bool) {
	defer ticket.Unlock()
	if s, known = ticket.Find(ids); known {
		ticket.AddIDs(s, ids) // another session may have one, which then stays apart
		return s, true
	}
	s = session.New(&a.Deps, w.SessionID, newest, w.CWD, w.Servers)
	ticket.Begin(s, ids)
	return s, false
}
