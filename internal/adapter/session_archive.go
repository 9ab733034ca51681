package adapter

import (
	"context"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
)

// Methods that are unstable in ACP.
const (
	methodArchive   = "session/archive"
	methodUnarchive = "session/unarchive"
)

// archiveSession archives a thread, whichever of its ids is given. If it is open, what it works on is cancelled, and it is closed (ACP's
// schema of SDK 2.4.0); but not before it is archived, so that a failure ends nothing.
func (a *Agent) archiveSession(c *wire.Call) (any, *jsonrpc.Error) {
	ticket, err := a.setArchived(c, true)
	if err != nil {
		return nil, err
	}
	defer ticket.Release()
	if err := lock(context.WithoutCancel(c.Context), ticket); err != nil {
		return nil, err
	}
	open := ticket.All()
	ticket.Unlock()
	for _, s := range open {
		a.Sessions.Forget(s)
	}
	ticket.Release()
	for _, s := range open {
		s.Close()
	}
	return struct{}{}, nil
}

// unarchiveSession restores an archived thread. An open one is not touched.
func (a *Agent) unarchiveSession(c *wire.Call) (any, *jsonrpc.Error) {
	ticket, err := a.setArchived(c, false)
	if err != nil {
		return nil, err
	}
	ticket.Release()
	return struct{}{}, nil
}

// setArchived notes in the store whether the thread that a call names is archived. The caller must release the ticket, unless it gets an error.
func (a *Agent) setArchived(c *wire.Call, archived bool) (_ *session.Ticket, err *jsonrpc.Error) {
	id, err := sessionID(c)
	if err != nil {
		return nil, err
	}
	ticket := a.enqueue(c, id, registry.Uses) // it does not touch the session's files, so no closing session is hastened
	defer func() {
		if err != nil {
			ticket.Release()
		}
	}()
	ids, err := a.threadAt(c.Context, ticket)
	if err != nil {
		return nil, err
	}
	if err := lock(c.Context, ticket); err != nil {
		return nil, err
	}
	open := ticket.All()
	ticket.Unlock()
	if len(open) == 0 {
		if err := a.checkStored(c.Context, id, ids); err != nil {
			return nil, err
		}
	}
	_, failure := files.CallBoundedDetached(context.Background(), a.Calls, "Store.SetArchived", "session "+id, files.NoResult(func() error { return a.Config.Store.SetArchived(archived, ids...) }))
	if failure != nil {
		return nil, acperr.Internal("archive_failed", "The session was neither archived nor restored: "+failure.Error())
	}
	return ticket, nil
}
