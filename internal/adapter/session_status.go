package adapter

import (
	"context"
	"errors"
	"slices"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/jsonrpc"
)

// methodStatus asks whether a session is open in this agent (unstable in ACP).
const methodStatus = "session/status"

// sessionStatus handles session/status. It starts no droid, and does not hasten the end of a session that is closing.
func (a *Agent) sessionStatus(c *wire.Call) (any, *jsonrpc.Error) {
	id, err := sessionID(c)
	if err != nil {
		return nil, err
	}
	ticket := a.enqueue(c, id, registry.Uses)
	defer ticket.Release()
	if err := lock(c.Context, ticket); err != nil {
		return nil, err
	}
	_, open := ticket.Open()
	ticket.Unlock()
	if !open {
		ids, err := a.Threads.IDs(c.Context, id)
		if err != nil {
			return nil, notKnown(err)
		}
		open = slices.ContainsFunc(ids, func(id string) bool {
			_, open := a.Sessions.Find(id)
			return open
		})
		if !open {
			if err := a.checkStored(c.Context, id, ids); err != nil {
				return nil, err
			}
		}
	}
	if open {
		return protocol.StatusResult{Status: "open"}, nil
	}
	return protocol.StatusResult{Status: "saved"}, nil
}

// checkStored returns an error unless the thread with these ids has a session in the store. id is the one that the client knows it by.
func (a *Agent) checkStored(ctx context.Context, id string, ids []string) *jsonrpc.Error {
	_, err := a.Launcher.Find(ctx, ids[len(ids)-1])
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*store.NotFoundError)):
		return acperr.UnknownSession(id)
	}
	return notKnown(err)
}

// notKnown returns the error where it cannot be read what the store has of a session.
func notKnown(err error) *jsonrpc.Error {
	if errors.Is(err, context.Canceled) {
		return acperr.Cancelled()
	}
	return acperr.Internal("status_failed", "It was not read what is stored of the session: "+err.Error())
}
