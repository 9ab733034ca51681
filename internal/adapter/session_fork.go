package adapter

import (
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// forkSession copies the newest session of a thread. The copy gets its own process; the original stays as it is.
func (a *Agent) forkSession(c *wire.Call) (any, *jsonrpc.Error) {
	p, ticket, err := a.decodeNamed(c)
	if err != nil {
		return nil, err
	}
	defer ticket.Release()
	w, err := a.readSession(c.Context, p)
	if err != nil {
		return nil, err
	}
	point, odd := a.Client.ForkPoint(p.Meta)
	if odd != nil {
		return nil, acperr.InvalidParams("%v", odd)
	}
	s, ids, err := a.openOf(c.Context, ticket)
	if err != nil {
		return nil, err
	}
	id := ""
	switch {
	case s != nil:
		id, err = s.ForkAt(c.Context, ticket.Release, point)
	case point != nil:
		id, err = a.CopyStoredAt(c.Context, ids[len(ids)-1], w.CWD, *point)
	}
	switch {
	case err != nil:
		return nil, err
	case id == "":
		return a.forkStored(c, w, ids)
	case s != nil:
		w = w.Following(s.Instructions())
	}
	client, info, failure := a.Launcher.Launch(c.Context, w.CWD, w.Servers, a.Launcher.Added(c.Context, id, w.Instructions), launch.Open{ID: id, Messages: 1, CWD: w.CWD})
	if failure != nil {
		return nil, acperr.CopyNotOpened(id, failure)
	}
	info.SessionID = id
	return a.OpenCopy(c, client, info, w, ids)
}

// forkStored copies a thread that is not open here and whose files are kept: one process loads its newest session, copies it and continues
// with the copy. If the copy is to work elsewhere, it takes two.
func (a *Agent) forkStored(c *wire.Call, w instructions.Wanted, ids []string) (any, *jsonrpc.Error) {
	newest := ids[len(ids)-1]
	var made launch.Copied
	open := launch.Open{ID: newest, Messages: 1, Copy: &made, CWD: w.CWD}
	var err error
	if from := a.Launcher.DirectoryOf(c.Context, newest, w.CWD); from != w.CWD {
		err = a.Launcher.Copy(c.Context, from, newest, &made)
		open = launch.Open{ID: made.ID, Messages: 1, CWD: w.CWD}
	}
	var client *droid.Client
	var info *stream.SessionInfo
	if err == nil {
		client, info, err = a.Launcher.Launch(c.Context, w.CWD, w.Servers, a.Launcher.Added(c.Context, w.SessionID, w.Instructions), open) // the copy has what is stored with the session
	}
	switch {
	case err != nil && made.ID != "":
		return nil, acperr.CopyNotOpened(made.ID, err)
	case err != nil && made.Begun:
		return nil, acperr.NotDone(acperr.Copying, err)
	case err != nil:
		return nil, acperr.NotOpened(w.SessionID, err)
	}
	info.SessionID = made.ID
	return a.OpenCopy(c, client, info, w, ids)
}
