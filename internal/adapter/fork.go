package adapter

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/wire"
)

// forkSession copies the newest session of a thread. The copy gets a process of its own; the session
// it was made from stays as it is.
func (a *Agent) forkSession(c *wire.Call) (any, *acp.RequestError) {
	p, err := a.decodeSession(c, true)
	if err != nil {
		return nil, err
	}
	ids := a.threadIDs(p.SessionID)
	open, _ := a.sessions.all(append([]string{p.SessionID}, ids...))
	if len(open) == 0 {
		return a.forkStored(c, p, ids)
	}
	s := open[0]
	id, err := askOwner(s.owner, inquiry[string]{ordered: c.Ordered, work: func(answer func(string, *acp.RequestError)) {
		p.wish = s.inherit(p.wish)
		s.fork(c.Context, answer)
	}})
	if err != nil {
		return nil, err
	}
	client, info, failure := a.launch(c.Context, p.CWD, p.servers, a.addedTo(id, p.wish.instructions), openStored(droid.LoadParams{SessionID: id, MessageLimit: 1}))
	if failure != nil {
		return nil, copyNotOpened(id, failure)
	}
	info.SessionID = id
	return a.takeUp(c, client, info, p)
}

// fork has droid copy the session it works on.
func (s *Session) fork(ctx context.Context, done func(string, *acp.RequestError)) {
	if s.busy() {
		done("", invalidRequest("the session works on a prompt; cancel it or wait for its end before you fork the session"))
		return
	}
	s.inTurn(func(over func(error)) {
		ended := func(id string, err *acp.RequestError) {
			defer over(nil)
			done(id, err)
		}
		callDroid(s, func(err *acp.RequestError) { ended("", err) }, func(client *droid.Client) func(context.Context) (string, error) {
			return func(sctx context.Context) (string, error) {
				ctx, cancel := context.WithTimeoutCause(ctx, openTime, errOpenTime)
				defer cancel()
				defer context.AfterFunc(sctx, cancel)()
				id, err := client.Fork(ctx)
				return id, outOfTime(ctx, err)
			}
		}, func(id string, err error) {
			if err != nil {
				ended("", notDone(copyingSession, err))
				return
			}
			ended(id, nil)
		})
	})
}

// forkStored copies a thread that is not open here: one process loads its newest
// session, copies it and goes on with the copy.
func (a *Agent) forkStored(c *wire.Call, p sessionParams, ids []string) (any, *acp.RequestError) {
	before, free := a.sessions.reserve(ids)
	defer free()
	c.Ordered()
	before.wait()
	var forked string
	copying := false
	open := func(ctx context.Context, client *droid.Client, servers []stream.MCPServer) (*stream.SessionInfo, error) {
		if _, err := client.Load(ctx, droid.LoadParams{SessionID: ids[len(ids)-1], MessageLimit: 1}); err != nil {
			return nil, err
		}
		copying = true
		id, err := client.Fork(ctx)
		if err != nil {
			return nil, err
		}
		forked = id
		return openStored(droid.LoadParams{SessionID: id, MessageLimit: 1})(ctx, client, servers)
	}
	client, info, err := a.launch(c.Context, p.CWD, p.servers, a.addedTo(p.SessionID, p.wish.instructions), open) // the copy has what is stored with the session
	switch {
	case err != nil && forked != "":
		return nil, copyNotOpened(forked, err)
	case err != nil && copying:
		return nil, notDone(copyingSession, err)
	case err != nil:
		return nil, openError(p.SessionID, err)
	}
	info.SessionID = forked
	return a.takeUp(c, client, info, p)
}
