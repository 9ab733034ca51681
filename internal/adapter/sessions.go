package adapter

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/internal/registry"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
)

// decodeNamed reads the params of a method that opens a stored session, and gives the call
// its place.
func (a *Agent) decodeNamed(c *wire.Call) (p instructions.Params, at *ticket, err *jsonrpc.Error) {
	if err = acperr.Decode(c.Params, &p); err == nil {
		err = checkSessionID(p.SessionID)
	}
	if err != nil {
		return p, nil, err
	}
	return p, a.arrive(c, p.SessionID, registry.Opens), nil
}

// readSession reads the params of a method that opens a session, by what is on the disk.
func (a *Agent) readSession(ctx context.Context, p instructions.Params) (instructions.Wanted, *jsonrpc.Error) {
	w, err := p.Read(ctx, a.opener)
	if err != nil {
		return w, acperr.InvalidParams("%v", err)
	}
	return w, nil
}

// newSession opens a session in a droid process of its own.
func (a *Agent) newSession(c *wire.Call) (any, *jsonrpc.Error) {
	var p instructions.Params
	if err := acperr.Decode(c.Params, &p); err != nil {
		return nil, err
	}
	c.Async() // nobody can refer to the session before it has an id
	w, err := a.readSession(c.Context, p)
	if err != nil {
		return nil, err
	}
	client, info, failure := a.opener.OpenNew(c.Context, w)
	if failure != nil {
		why := acperr.NotOpened("", failure)
		if acperr.KindOf(why) == string(diagnosis.NotFound) {
			return a.openWithout(c, w)
		}
		return nil, why
	}
	s := a.takeUp(c.Context, client, info, w, func(s *Session) {
		s.checkDefaults()
		s.checkWords()
	})
	return a.begin(c, s, s.sessionResult(), w.Notices)
}

// openWithout opens a session though there is no droid, so that its first prompt can say so: some
// clients show nothing of an error of session/new. A droid that is found later makes the session under
// the id that it gets here.
func (a *Agent) openWithout(c *wire.Call, w instructions.Wanted) (any, *jsonrpc.Error) {
	s := a.makeSession(uuid.NewString(), w.CWD, w.Servers)
	s.mu.Lock()
	s.useInstructions(w)
	s.proc.NotMade()
	s.log.Warn("there is no droid; the session waits for one")
	return a.begin(c, s, protocol.SessionResult{}, w.Notices)
}

// takeUp makes the session that a process has just opened. begin follows, and the caller has its lock until then. check is called before
// the options get their first values.
func (a *Agent) takeUp(ctx context.Context, client *droid.Client, info *stream.SessionInfo, w instructions.Wanted, check func(s *Session)) *Session {
	s := a.makeSession(info.SessionID, w.CWD, w.Servers)
	s.mu.Lock() // nobody knows it
	s.useInstructions(w)
	s.adopt(client)
	s.opened(info)
	check(s)
	s.setFirst(ctx, w.First)
	return s
}

// begin has a session that was just made begin to work. The result gets its id. It gives up the session's lock.
func (a *Agent) begin(c *wire.Call, s *Session, result protocol.SessionResult, notices []string) (_ any, failure *jsonrpc.Error) {
	s.out.AddNotices(notices...)
	result.SessionID = s.out.Session()
	if err := a.sessions.Begin(s, s.out.Session()); err != nil {
		s.Stop()
		s.Hurry()
		s.mu.Unlock()
		s.Run() // which ends what the session has begun
		if errors.Is(err, registry.ErrTaken) {
			return nil, acperr.Internal("session_taken", "droid calls the new session "+s.out.Session()+", which is open already; try again")
		}
		return nil, placeError(err)
	}
	defer s.mu.Unlock()
	failure = acperr.Lost() // where it panics
	s.mu.Guard(func() {
		s.answerOpening(c, result)
		failure = nil
	})
	return result, failure
}

// closeSession cancels what a session works on and ends its process, which leaves
// politely in the background. If the session is opened again before that, the
// process is killed.
func (a *Agent) closeSession(c *wire.Call) (any, *jsonrpc.Error) {
	s, place, err := a.reach(c)
	if err != nil {
		return nil, err
	}
	a.sessions.Forget(s)
	place.Release()
	s.cancelAndWait()
	s.Stop()
	return struct{}{}, nil
}

// cancelAndWait cancels what the session works on and returns when no prompt runs
// any more.
func (s *Session) cancelAndWait() {
	var failed *jsonrpc.Error
	if s.enter(nil) != nil {
		return
	}
	defer s.exit(&failed)
	s.cancelPrompts()
	if s.waitFor(s.Context, "the end of the session", needQuiet) != nil {
		return // there is nothing to wait for
	}
	left := s.updateBackground()
	s.async(func(context.Context) { endLeft(left) })
	s.sendKept() // nobody else will
}

// listStored lists stored sessions.
func (d *Deps) listStored(ctx context.Context, q store.Query) (store.Page, error) {
	return files.CallBounded(ctx, d.calls, "Store.List", "the store of sessions", func(string) (store.Page, error) { return d.cfg.Store.List(ctx, q) })
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
		CWD    string `json:"cwd"`
		Cursor string `json:"cursor"`
	}
	if !acperr.Empty(c.Params) {
		if err := acperr.Decode(c.Params, &params); err != nil {
			return nil, err
		}
	}
	c.Async()
	cwd, err := a.opener.FindDirectory(c.Context, "cwd", params.CWD)
	if err == nil && cwd != "" && !filepath.IsAbs(cwd) {
		err = fmt.Errorf("cwd must be an absolute path, not %q", cwd)
	}
	if err != nil {
		return nil, acperr.InvalidParams("%v", err)
	}
	limit := pageSize
	if params.Cursor != "" {
		limit = furtherSize
	}
	page, err := a.listStored(c.Context, store.Query{CWD: cwd, Cursor: params.Cursor, Limit: limit})
	var bad *store.BadCursorError
	switch {
	case errors.As(err, &bad):
		return nil, acperr.InvalidParams("unknown cursor; begin again without one")
	case err != nil:
		return nil, acperr.Internal("list_failed", "The sessions could not be listed: "+err.Error())
	}
	result := protocol.ListResult{Sessions: make([]protocol.ListedSession, 0, len(page.Sessions)), NextCursor: page.NextCursor}
	for _, s := range page.Sessions {
		result.Sessions = append(result.Sessions, protocol.ListedSession{SessionID: s.ID, CWD: s.CWD, Title: protocol.Line(s.Title), UpdatedAt: s.UpdatedAt.UTC().Format(time.RFC3339Nano), AdditionalDirectories: a.rootsOf(s.ID)})
	}
	return result, nil
}
