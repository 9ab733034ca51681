package adapter

import (
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/jsonrpc"
)

// loadSession opens a stored session and replays its history.
func (a *Agent) loadSession(c *wire.Call) (any, *jsonrpc.Error) { return a.reopen(c, true) }

// resumeSession opens a stored session without its history.
func (a *Agent) resumeSession(c *wire.Call) (any, *jsonrpc.Error) { return a.reopen(c, false) }

// reopen loads a session: in the process it has, if it is open here, else in a new
// one.
func (a *Agent) reopen(c *wire.Call, replay bool) (any, *jsonrpc.Error) {
	p, ticket, err := a.decodeNamed(c)
	if err != nil {
		return nil, err
	}
	defer ticket.Release()
	w, err := a.readSession(c.Context, p)
	if err != nil {
		return nil, err
	}
	l := session.LoadRequest{Wanted: w, Target: a.Launcher.Target(c.Context, w.CWD), Replay: replay}
	s, known, ids, err := a.takeThread(c.Context, ticket, w)
	if err != nil {
		return nil, err
	}
	l.IDs = ids
	if !known { // an open session has its value
		l.FollowUp = a.Threads.FollowUp(c.Context, ids)
	}
	result, stays, err := s.Load(c, ticket.Release, l)
	if err != nil {
		if !known && !stays {
			a.Sessions.Forget(s)
			s.Stop()
		}
		return nil, err
	}
	return result, nil
}
