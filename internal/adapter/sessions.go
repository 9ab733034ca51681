package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/mcp"
	"droid-acp/internal/protocol"
	"droid-acp/internal/registry"
	"droid-acp/internal/store"
	"droid-acp/internal/wire"
)

// sessionParams are the params of session/new, load, resume and fork.
type sessionParams struct {
	SessionID             string          `json:"sessionId"`
	CWD                   string          `json:"cwd"`
	MCPServers            json.RawMessage `json:"mcpServers"`
	AdditionalDirectories []string        `json:"additionalDirectories"`
	SystemPrompt          json.RawMessage `json:"systemPrompt"`
	Meta                  json.RawMessage `json:"_meta"`

	target  string             // where the links of CWD lead
	wish    wish               // of the three above
	servers []stream.MCPServer // of MCPServers
	notices []string           // about them
}

// decodeNamed reads the params of a method that opens a stored session, and gives the call
// its place.
func (a *Agent) decodeNamed(c *wire.Call) (p sessionParams, at *place, err *acp.RequestError) {
	if err = decode(c.Params, &p); err == nil {
		err = checkSessionID(p.SessionID)
	}
	if err != nil {
		return p, nil, err
	}
	return p, a.arrive(c, p.SessionID, registry.Opens), nil
}

// readSession checks the params of a method that opens a session, by what is on the disk.
func (a *Agent) readSession(ctx context.Context, p *sessionParams) *acp.RequestError {
	if err := a.findDirectories(ctx, p); err != nil {
		return err
	}
	if err := a.checkDirectory(ctx, "cwd", p.CWD); err != nil {
		return err
	}
	p.CWD, p.target = filepath.Clean(p.CWD), a.target(ctx, p.CWD)
	var refused *acp.RequestError
	if p.wish, refused = a.readWish(ctx, *p); refused != nil {
		return refused
	}
	var err error
	if p.servers, p.notices, err = mcp.Parse(p.MCPServers); err != nil {
		return invalidParams("%v", err)
	}
	return nil
}

// checkDirectory refuses what droid would take and fail on later (0.99 opens a
// session in a directory that does not exist). what names the directory in the params.
func (a *Agent) checkDirectory(ctx context.Context, what, path string) *acp.RequestError {
	if path == "" {
		return invalidParams("%s is missing; it must be an absolute path", what)
	}
	if !filepath.IsAbs(path) {
		return invalidParams("%s must be an absolute path, not %q", what, path)
	}
	info, err := bounded(ctx, a, "stat", path, a.stat)
	if err != nil {
		return invalidParams("%s cannot be used: %v", what, err)
	}
	if !info.IsDir() {
		return invalidParams("%s %q is not a directory", what, path)
	}
	return nil
}

// newSession opens a session in a droid process of its own.
func (a *Agent) newSession(c *wire.Call) (any, *acp.RequestError) {
	var p sessionParams
	if err := decode(c.Params, &p); err != nil {
		return nil, err
	}
	c.Ordered() // nobody can refer to the session before it has an id
	if err := a.readSession(c.Context, &p); err != nil {
		return nil, err
	}
	client, info, failure := a.openInstructed(c.Context, p)
	if failure != nil {
		return nil, openError("", failure)
	}
	return a.takeUp(c, client, info, p, (*Session).checkDefaults)
}

// takeUp registers the session that a process has just opened, and returns the
// result that names it.
func (a *Agent) takeUp(c *wire.Call, client *droid.Client, info *stream.SessionInfo, p sessionParams, checks ...func(*Session)) (any, *acp.RequestError) {
	s := a.makeSession(info.SessionID, p.CWD, p.servers)
	s.useInstructions(p.wish)
	s.adopt(client)
	s.opened(info)
	s.out.Keep(p.notices...)
	for _, check := range checks {
		check(s)
	}
	result := s.sessionResult()
	result.SessionID = s.id
	// The editor takes updates of a session once it has the response.
	c.Response.WhenWritten(func() { s.post(func() { s.register(); s.tellLeftOut() }) })
	if err := a.sessions.Begin(s, s.id); err != nil {
		s.stop()
		client.Kill()
		<-client.Exited()
		if errors.Is(err, registry.ErrTaken) {
			return nil, internalError("session_taken", "droid calls the new session "+s.id+", which is open already; try again")
		}
		return nil, placeError(err)
	}
	return result, nil
}

// closeSession cancels what a session works on and ends its process, which leaves
// politely in the background. If the session is opened again before that, the
// process is killed.
func (a *Agent) closeSession(c *wire.Call) (any, *acp.RequestError) {
	id, err := idOf(c)
	if err != nil {
		return nil, err
	}
	s, place, err := a.reach(c, id)
	if err != nil {
		return nil, err
	}
	a.sessions.Forget(s)
	place.Leave()
	s.cancelAndWait()
	s.stop()
	return struct{}{}, nil
}

// cancelAndWait cancels what the session works on and returns when no prompt runs
// any more.
func (s *Session) cancelAndWait() {
	_, _ = askOwner(s.owner, inquiry[struct{}]{work: func(quiet func(struct{}, *acp.RequestError)) {
		s.cancelPrompts()
		s.when("the end of the session", func() { quiet(struct{}{}, nil) }, needQuiet)
	}}) // after an error there is nothing to wait for
}

// listStored lists stored sessions.
func (a *Agent) listStored(ctx context.Context, q store.Query) (store.Page, error) {
	return bounded(ctx, a, "Store.List", "the store of sessions", func(string) (store.Page, error) { return a.cfg.Store.List(ctx, q) })
}

// pageSize is how many sessions session/list returns at once.
const pageSize = 50

// listSessions lists the stored sessions, newest first, wherever they were made.
func (a *Agent) listSessions(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		CWD    string `json:"cwd"`
		Cursor string `json:"cursor"`
	}
	if !isEmpty(c.Params) {
		if err := decode(c.Params, &params); err != nil {
			return nil, err
		}
	}
	c.Ordered()
	if err := a.findDirectory(c.Context, "cwd", &params.CWD); err != nil {
		return nil, err
	}
	if params.CWD != "" && !filepath.IsAbs(params.CWD) {
		return nil, invalidParams("cwd must be an absolute path, not %q", params.CWD)
	}
	page, err := a.listStored(c.Context, store.Query{CWD: params.CWD, Cursor: params.Cursor, Limit: pageSize})
	var bad *store.BadCursorError
	switch {
	case errors.As(err, &bad):
		return nil, invalidParams("unknown cursor; begin again without one")
	case err != nil:
		return nil, internalError("list_failed", "the sessions could not be listed: "+err.Error())
	}
	result := protocol.ListResult{Sessions: make([]protocol.ListedSession, 0, len(page.Sessions)), NextCursor: page.NextCursor}
	for _, s := range page.Sessions {
		result.Sessions = append(result.Sessions, protocol.ListedSession{SessionID: s.ID, CWD: s.CWD, Title: s.Title, UpdatedAt: s.UpdatedAt.UTC().Format(time.RFC3339Nano), AdditionalDirectories: a.rootsOf(s.ID)})
	}
	return result, nil
}
