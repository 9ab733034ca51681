package adapter

import (
	"context"
	"encoding/json"
	"errors"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/jsonrpc"
)

// decodeNamed decodes the params of a method that opens a stored session, and queues the call.
func (a *Agent) decodeNamed(c *wire.Call) (p instructions.Params, ticket *session.Ticket, err *jsonrpc.Error) {
	if err = acperr.Decode(c.Params, &p); err == nil {
		err = checkSessionID(p.SessionID)
	}
	if err != nil {
		return p, nil, err
	}
	return p, a.enqueue(c, p.SessionID, registry.Opens), nil
}

// readSession reads the params of a method that opens a session, by what is on the disk.
func (a *Agent) readSession(ctx context.Context, p instructions.Params) (instructions.Wanted, *jsonrpc.Error) {
	w, err := p.Read(ctx, a.Launcher)
	if err != nil {
		return w, acperr.InvalidParams("%v", err)
	}
	return w, nil
}

// newSession opens a session in its own droid process.
func (a *Agent) newSession(c *wire.Call) (any, *jsonrpc.Error) {
	var p instructions.Params
	if err := acperr.Decode(c.Params, &p); err != nil {
		return nil, err
	}
	c.Async() // no request can name the session before it has an id
	w, err := a.readSession(c.Context, p)
	if err != nil {
		return nil, err
	}
	client, info, failure := a.Launcher.OpenNew(c.Context, w)
	if failure != nil {
		why := acperr.NotOpened("", failure)
		if acperr.KindOf(why) == string(diagnosis.NotFound) {
			return a.OpenWithout(c, w)
		}
		return nil, why
	}
	return a.OpenNew(c, client, info, w)
}

// closeSession cancels what a session works on and ends its process, which leaves
// politely in the background. If the session is opened again before that, the
// process is killed.
func (a *Agent) closeSession(c *wire.Call) (any, *jsonrpc.Error) {
	s, ticket, err := a.lookup(c)
	if err != nil {
		return nil, err
	}
	a.Sessions.Forget(s)
	ticket.Release()
	s.Close()
	return struct{}{}, nil
}

// How many sessions session/list returns at once: on the first page, which most editors show alone, and on each
// further one. Each page reads the beginnings of all files before it once more, so that who wants all of a large
// store asks seldom.
const (
	pageSize    = 50
	furtherSize = 1000
)

// listSessions lists the stored sessions, newest first, wherever they were made.
func (a *Agent) listSessions(c *wire.Call) (any, *jsonrpc.Error) {
	var params struct {
		CWD      string              `json:"cwd"`
		Cursor   string              `json:"cursor"`
		Archived store.ArchiveFilter `json:"archived"`
		Meta     json.RawMessage     `json:"_meta"`
	}
	if !acperr.Empty(c.Params) {
		if err := acperr.Decode(c.Params, &params); err != nil {
			return nil, err
		}
	}
	switch params.Archived {
	case "", store.ExcludeArchived, store.IncludeArchived, store.OnlyArchived:
	default:
		return nil, acperr.InvalidParams("archived is %.80q; it is exclude, include or only", params.Archived)
	}
	q := store.Query{Cursor: params.Cursor, Limit: pageSize, Archived: params.Archived}
	if params.Cursor != "" {
		q.Limit = furtherSize
	}
	if a.Client.SessionIndex {
		if err := indexQuery(&q, params.Meta); err != nil {
			return nil, err
		}
	}
	c.Async()
	var failure *jsonrpc.Error
	if q.CWD, failure = a.directoryOf(c, params.CWD); failure != nil {
		return nil, failure
	}
	page, err := a.ListStored(c.Context, q)
	if err != nil {
		return nil, notListed(err)
	}
	result := protocol.ListResult{Sessions: make([]protocol.ListedSession, 0, len(page.Sessions)), NextCursor: page.NextCursor}
	for _, s := range page.Sessions {
		result.Sessions = append(result.Sessions, a.listed(s))
	}
	return result, nil
}

// notListed returns the error where the store cannot be listed.
func notListed(err error) *jsonrpc.Error {
	if errors.As(err, new(*store.BadCursorError)) {
		return acperr.InvalidParams("unknown cursor; begin again without one")
	}
	return acperr.Internal("list_failed", "The sessions could not be listed: "+err.Error())
}

// rootsOf returns the additional directories of a session that is open here, nil for others.
func (a *Agent) rootsOf(id string) []string {
	if s, open := a.Sessions.Find(id); open {
		return s.Instructions().Roots
	}
	return nil
}
