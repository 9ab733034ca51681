package adapter

import (
	"context"
	"slices"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
)

// deleteSession removes a thread from the store, whichever of its ids is given. Its
// files are moved aside, see store.Delete. A session that does not exist is deleted
// already. Nothing of an open session ends before it is known that its files can be moved.
func (a *Agent) deleteSession(c *wire.Call) (any, *jsonrpc.Error) {
	id, err := sessionID(c)
	if err != nil {
		return nil, err
	}
	ticket := a.enqueue(c, id, registry.Opens)
	defer ticket.Release()
	known, err := a.threadAt(c.Context, ticket)
	if err != nil {
		return nil, err
	}
	if err := lock(c.Context, ticket); err != nil {
		return nil, err
	}
	open := ticket.All()
	ticket.Unlock()
	if err := a.checkDelete(c.Context, known, open); err != nil {
		return nil, err // and the sessions stay
	}
	if err := lock(c.Context, ticket); err != nil {
		return nil, err
	}
	open = ticket.All()
	ids := ticket.UseFiles(open...) // also those of which it could not be noted that the thread went on there
	ticket.Unlock()
	for _, s := range open {
		s.CloseDeleted()
	}
	ticket.WaitForFiles()
	more, unknown := a.Threads.IDs(context.Background(), id) // a command may have had droid make one in the meantime
	if unknown != nil {
		return nil, notDeleted(unknown)
	}
	ids = slices.Compact(slices.Sorted(slices.Values(append(ids, more...))))
	if _, err := files.CallBoundedDetached(context.Background(), a.Calls, "Store.Delete", "session "+id, files.NoResult(func() error { return a.Config.Store.Delete(ids...) })); err != nil {
		return nil, notDeleted(err)
	}
	return struct{}{}, nil
}

// checkDelete returns an error where a thread with these ids and open sessions cannot be deleted, or the request was taken back.
func (a *Agent) checkDelete(ctx context.Context, ids []string, open []*session.Session) *jsonrpc.Error {
	if len(open) == 0 {
		return nil // Store.Delete leaves all as it is when it fails
	}
	_, err := files.CallBounded(ctx, a.Calls, "Store.CheckDelete", "session "+ids[0], files.NoResult(func() error { return a.Config.Store.CheckDelete(ids...) }))
	for _, s := range open {
		if err == nil {
			err = s.OnlyHere(ctx)
		}
	}
	switch {
	case ctx.Err() != nil:
		return acperr.Cancelled()
	case err != nil:
		return notDeleted(err)
	}
	return nil
}

func notDeleted(err error) *jsonrpc.Error {
	return acperr.Internal("delete_failed", "The session could not be deleted: "+err.Error())
}
