package adapter

import (
	"fmt"
	"path/filepath"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/jsonrpc"
)

// searchParams are the params of _droid/search.
type searchParams struct {
	SessionID  string `json:"sessionId"` // of an open session; its directory is the project if there is no CWD
	CWD        string `json:"cwd"`
	Everywhere bool   `json:"everywhere"` // all projects
	Query      string `json:"query"`
	Limit      int    `json:"limit"`
}

// searchResult is its result. It has no paths of files.
type searchResult struct {
	Sessions []foundSession `json:"sessions"`
}

type foundSession struct {
	protocol.ListedSession
	Matches []foundText `json:"matches"`
}

type foundText struct {
	Kind protocol.Line `json:"kind"`
	Role protocol.Line `json:"role,omitzero"`
	Text protocol.Line `json:"text"`
}

// search is _droid/search: it searches the stored sessions of a project.
func (a *Agent) search(c *wire.Call) (any, *jsonrpc.Error) {
	var params searchParams
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	cwd, err := a.searchedDirectory(c, params)
	if err != nil {
		return nil, err
	}
	found, err := a.Search(c.Context, session.SearchQuery{Text: params.Query, CWD: cwd, Limit: params.Limit})
	if err != nil {
		return nil, err
	}
	result := searchResult{Sessions: make([]foundSession, 0, len(found))}
	for _, f := range found {
		one := foundSession{a.listed(f.Session), []foundText{}}
		for _, h := range f.Hits {
			one.Matches = append(one.Matches, foundText{protocol.Line(h.Kind), protocol.Line(h.Role), protocol.Line(h.Text)})
		}
		result.Sessions = append(result.Sessions, one)
	}
	return result, nil
}

// searchedDirectory returns the directory whose sessions are searched, "" for all. It lets the next line come.
func (a *Agent) searchedDirectory(c *wire.Call, p searchParams) (cwd string, err *jsonrpc.Error) {
	switch {
	case p.SessionID != "":
		s, ticket, err := a.lookup(c)
		if err != nil {
			return "", err
		}
		if err := s.Enter(ticket.Release); err != nil {
			return "", err
		}
		cwd = s.Directory()
		s.Exit(&err)
		if err != nil {
			return "", err
		}
	case p.CWD == "" && !p.Everywhere:
		return "", acperr.InvalidParams("cwd is missing; give the directory of a project, or sessionId, or everywhere")
	}
	c.Async()
	switch {
	case p.Everywhere:
		return "", nil
	case p.CWD == "":
		return cwd, nil
	}
	return a.directoryOf(c, p.CWD)
}

// directoryOf returns the directory that the params of a call name as cwd, "" for none.
func (a *Agent) directoryOf(c *wire.Call, named string) (string, *jsonrpc.Error) {
	cwd, err := a.Launcher.FindDirectory(c.Context, "cwd", named)
	if err == nil && cwd != "" && !filepath.IsAbs(cwd) {
		err = fmt.Errorf("cwd must be an absolute path, not %q", cwd)
	}
	if err != nil {
		return "", acperr.InvalidParams("%v", err)
	}
	return cwd, nil
}

// listed returns a stored session as a row of a list.
func (a *Agent) listed(s store.Session) protocol.ListedSession {
	return protocol.ListedSession{
		SessionID: s.ID, CWD: s.CWD, Title: protocol.Line(s.Title), UpdatedAt: s.UpdatedAt.UTC().Format(time.RFC3339Nano), Archived: s.Archived,
		AdditionalDirectories: a.rootsOf(s.ID), Meta: a.indexMeta(s),
	}
}
