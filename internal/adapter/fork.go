package adapter

import (
	"context"
	"fmt"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
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
	type outcome struct {
		id  string
		err *acp.RequestError
	}
	done := make(chan outcome, 1)
	posted := s.post(func() {
		s.fork(c.ctx, func(id string, err *acp.RequestError) { done <- outcome{id, err} })
	})
	c.ordered()
	if !posted {
		return nil, errEnding()
	}
	out := <-done
	if out.err != nil {
		return nil, out.err
	}
	client, info, failure := a.launch(c.ctx, p.CWD, p.servers, openStored(droid.LoadParams{SessionID: out.id, MessageLimit: 1}))
	if failure != nil {
		return nil, startError(failure)
	}
	info.SessionID = out.id
	return a.takeUp(c, client, info, p)
}

// fork has droid copy the session it works on.
func (s *Session) fork(ctx context.Context, done func(string, *acp.RequestError)) {
	if s.turn != nil || len(s.queue) > 0 {
		done("", invalidRequest("the session works on a prompt; cancel it or wait for its end before you fork the session"))
		return
	}
	s.withDroid(1, func(_ *droid.SessionInfo, err *acp.RequestError) {
		if err != nil {
			done("", err)
			return
		}
		s.alone(func(end func()) {
			client := s.client
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
					done("", startError(err))
					return
				}
				done(id, nil)
			})
		})
	})
}

// forkStored copies a session that is not open here: one process loads it, copies
// it and goes on with the copy.
func (a *Agent) forkStored(c call, p sessionParams) (any, *acp.RequestError) {
	before, free := a.reserve(p.SessionID)
	defer free()
	c.ordered()
	before.wait()
	var forked string
	open := func(ctx context.Context, client *droid.Client, servers []droid.MCPServer) (*droid.SessionInfo, error) {
		if _, err := client.Load(ctx, droid.LoadParams{SessionID: p.SessionID, MessageLimit: 1}); err != nil {
			return nil, err
		}
		id, err := client.Fork(ctx)
		if err != nil {
			return nil, fmt.Errorf("forking: %w", err)
		}
		forked = id
		return openStored(droid.LoadParams{SessionID: id, MessageLimit: 1})(ctx, client, servers)
	}
	client, info, err := a.launch(c.ctx, p.CWD, p.servers, open)
	if err != nil {
		return nil, (&Session{id: p.SessionID}).openError(err)
	}
	info.SessionID = forked
	return a.takeUp(c, client, info, p)
}
