package adapter

import (
	"context"
	"errors"
	"fmt"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
)

// forkSession copies a session. The copy gets a process of its own; the session
// it was made from stays as it is.
func (a *Agent) forkSession(c call) (any, *acp.RequestError) {
	p, err := a.decodeSession(c, true)
	if err != nil {
		return nil, err
	}
	s, err := a.session(p.SessionID)
	if err != nil {
		return a.forkStored(c, p)
	}
	id, err := askOwner(s.owner, inquiry[string]{ordered: c.ordered, work: func(answer func(string, *acp.RequestError)) { s.fork(c.ctx, answer) }})
	if err != nil {
		return nil, err
	}
	client, info, failure := a.launch(c.ctx, p.CWD, p.servers, openStored(droid.LoadParams{SessionID: id, MessageLimit: 1}))
	if failure != nil {
		return nil, openError(id, failure)
	}
	info.SessionID = id
	return a.takeUp(c, client, info, p)
}

// fork has droid copy the session it works on.
func (s *Session) fork(ctx context.Context, done func(string, *acp.RequestError)) {
	if s.turn != nil || len(s.queue) > 0 {
		done("", invalidRequest("the session works on a prompt; cancel it or wait for its end before you fork the session"))
		return
	}
	s.withDroid(1, func(_ *stream.SessionInfo, err *acp.RequestError) {
		if err != nil {
			done("", err)
			return
		}
		s.alone(func(end func()) {
			client := s.proc.client()
			if client == nil {
				done("", startError(errDroidGone))
				end()
				return
			}
			s.do(func(sctx context.Context) {
				ctx, cancel := context.WithTimeoutCause(ctx, openTime, errOpenTime)
				defer cancel()
				defer context.AfterFunc(sctx, cancel)()
				id, err := client.Fork(ctx)
				s.post(end)
				if err != nil {
					done("", forkError(err))
					return
				}
				done(id, nil)
			}, end)
		})
	})
}

// errFork marks that the copying failed, not the opening before or after it.
var errFork = errors.New("copying the session")

// forkStored copies a session that is not open here: one process loads it, copies
// it and goes on with the copy.
func (a *Agent) forkStored(c call, p sessionParams) (any, *acp.RequestError) {
	before, free := a.reserve(p.SessionID)
	defer free()
	c.ordered()
	before.wait()
	var forked string
	open := func(ctx context.Context, client *droid.Client, servers []stream.MCPServer) (*stream.SessionInfo, error) {
		if _, err := client.Load(ctx, droid.LoadParams{SessionID: p.SessionID, MessageLimit: 1}); err != nil {
			return nil, err
		}
		id, err := client.Fork(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errFork, err)
		}
		forked = id
		return openStored(droid.LoadParams{SessionID: id, MessageLimit: 1})(ctx, client, servers)
	}
	client, info, err := a.launch(c.ctx, p.CWD, p.servers, open)
	switch {
	case errors.Is(err, errFork):
		return nil, forkError(err)
	case err != nil:
		return nil, openError(p.SessionID, err)
	}
	info.SessionID = forked
	return a.takeUp(c, client, info, p)
}
