package adapter

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/mcp"
	"droid-acp/internal/protocol"
	"droid-acp/internal/store"
	"droid-acp/internal/wire"
)

// sessionParams are the params of session/new, load, resume and fork.
type sessionParams struct {
	SessionID             string          `json:"sessionId"`
	CWD                   string          `json:"cwd"`
	MCPServers            json.RawMessage `json:"mcpServers"`
	AdditionalDirectories []string        `json:"additionalDirectories"`

	servers []stream.MCPServer // of MCPServers
	notices []string           // about them
}

// decodeSession reads and checks the params of a method that opens a session.
func (a *Agent) decodeSession(c *wire.Call, needsID bool) (sessionParams, *acp.RequestError) {
	var p sessionParams
	if err := decode(c.Params, &p); err != nil {
		return p, err
	}
	if needsID {
		if err := checkSessionID(p.SessionID); err != nil {
			return p, err
		}
	}
	if err := a.checkDirectory(p.CWD); err != nil {
		return p, err
	}
	var err error
	if p.servers, p.notices, err = mcp.Parse(p.MCPServers); err != nil {
		return p, invalidParams("%v", err)
	}
	return p, nil
}

// decline notes for the user what the editor asked for and does not get: MCP
// servers that droid cannot have, and additional directories, since droid works in
// one only. The agent does not say that it takes these, but some clients send them.
func (s *Session) decline(p sessionParams) {
	s.note(p.notices...)
	if list := p.AdditionalDirectories; len(list) > 0 {
		s.note("droid works in one directory, " + s.cwd + ". It can open files in " + strings.Join(list, ", ") + " by their path, but does not search there by itself.")
	}
}

// checkDirectory refuses what droid would take and fail on later (0.99 opens a
// session in a directory that does not exist).
func (a *Agent) checkDirectory(cwd string) *acp.RequestError {
	if cwd == "" {
		return invalidParams("cwd is missing; it must be an absolute path")
	}
	if !filepath.IsAbs(cwd) {
		return invalidParams("cwd must be an absolute path, not %q", cwd)
	}
	info, err := a.stat(cwd)
	if err != nil {
		return invalidParams("cwd cannot be used: %v", err)
	}
	if !info.IsDir() {
		return invalidParams("cwd %q is not a directory", cwd)
	}
	return nil
}

// newSession opens a session in a droid process of its own.
func (a *Agent) newSession(c *wire.Call) (any, *acp.RequestError) {
	p, err := a.decodeSession(c, false)
	if err != nil {
		return nil, err
	}
	c.Ordered() // nobody can refer to the session before it has an id
	client, info, failure := a.launch(c.Context, p.CWD, p.servers, openNew(droid.InitializeParams{CWD: p.CWD, Settings: a.cfg.Defaults.Settings()}))
	if failure != nil {
		return nil, openError("", failure)
	}
	return a.takeUp(c, client, info, p, (*Session).checkDefaults)
}

// takeUp registers the session that a process has just opened, and returns the
// result that names it.
func (a *Agent) takeUp(c *wire.Call, client *droid.Client, info *stream.SessionInfo, p sessionParams, checks ...func(*Session)) (any, *acp.RequestError) {
	s := a.makeSession(info.SessionID, p.CWD, p.servers)
	s.adopt(client)
	s.opened(info)
	s.decline(p)
	for _, check := range checks {
		check(s)
	}
	modes, list := s.options.Tell()
	result := protocol.SessionResult{SessionID: s.id, Modes: modes, ConfigOptions: list}
	// The editor takes updates of a session once it has the response.
	c.Response.WhenWritten(func() { s.post(s.register) })
	if err := a.sessions.begin(s); err != nil {
		s.stop()
		client.Kill()
		<-client.Exited()
		return nil, err
	}
	return result, nil
}

// closeSession cancels what a session works on and ends its process, which leaves
// politely in the background. If the session is opened again before that, the
// process is killed.
func (a *Agent) closeSession(c *wire.Call) (any, *acp.RequestError) {
	s, err := a.sessionOf(c)
	if err != nil {
		return nil, err
	}
	a.sessions.forget(s)
	c.Ordered()
	s.cancelAndWait()
	s.stop()
	return struct{}{}, nil
}

// cancelAndWait cancels what the session works on and returns when no prompt runs
// any more.
func (s *Session) cancelAndWait() {
	_, _ = askOwner(s.owner, inquiry[struct{}]{work: func(quiet func(struct{}, *acp.RequestError)) {
		s.cancelPrompts()
		s.prompts.whenQuiet(func() { quiet(struct{}{}, nil) })
	}}) // after an error there is nothing to wait for
}

// deleteSession removes a session from the store. Its files are moved aside, see
// store.Delete. A session that does not exist is deleted already.
func (a *Agent) deleteSession(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		SessionID string `json:"sessionId"`
	}
	if err := decode(c.Params, &params); err != nil {
		return nil, err
	}
	if err := checkSessionID(params.SessionID); err != nil {
		return nil, err
	}
	s, err := a.session(params.SessionID)
	if err == nil {
		a.sessions.forget(s)
	}
	before, free := a.sessions.reserve(params.SessionID)
	defer free()
	c.Ordered()
	if err == nil {
		s.cancelAndWait()
		s.post(func() {
			if client := s.proc.client(); client != nil {
				client.Kill() // it would write to the files once more as it leaves
			}
		})
		s.stop()
	}
	before.wait()
	if err := a.cfg.Store.Delete(params.SessionID); err != nil {
		return nil, internalError("delete_failed", "the session could not be deleted: "+err.Error())
	}
	return struct{}{}, nil
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
	if params.CWD != "" && !filepath.IsAbs(params.CWD) {
		return nil, invalidParams("cwd must be an absolute path, not %q", params.CWD)
	}
	c.Ordered()
	page, err := a.cfg.Store.List(c.Context, store.Query{CWD: params.CWD, Cursor: params.Cursor, Limit: pageSize})
	var bad *store.BadCursorError
	switch {
	case errors.As(err, &bad):
		return nil, invalidParams("unknown cursor; begin again without one")
	case err != nil:
		return nil, internalError("list_failed", "the sessions could not be listed: "+err.Error())
	}
	result := protocol.ListResult{Sessions: make([]protocol.ListedSession, 0, len(page.Sessions)), NextCursor: page.NextCursor}
	for _, s := range page.Sessions {
		result.Sessions = append(result.Sessions, protocol.ListedSession{SessionID: s.ID, CWD: s.CWD, Title: s.Title, UpdatedAt: s.UpdatedAt.UTC().Format(time.RFC3339Nano)})
	}
	return result, nil
}
