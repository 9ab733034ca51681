package adapter

import (
	"context"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/jsonrpc"
)

// extensions returns the methods for programs, by their names. docs/programs.md has
// their params, results and errors.
func (a *Agent) extensions() map[string]wire.Handler {
	return map[string]wire.Handler{
		"_droid/state":               snapshot(a, (*session.Session).State),
		"_droid/stats":               snapshot(a, (*session.Session).Stats),
		"_droid/messages":            query(a, (*session.Session).Messages),
		"_droid/last_assistant_text": query(a, (*session.Session).LastAssistantText),
		"_droid/rewind_points":       query(a, (*session.Session).RewindPoints),
		"_droid/rewind":              extension(a, (*session.Session).RewindTo),
		"_droid/commands":            snapshot(a, (*session.Session).ListedCommands),
		"_droid/models":              snapshot(a, (*session.Session).Models),
		"_droid/set_auto_compaction": extension(a, (*session.Session).SwitchAutoCompaction),
		"_droid/export":              extension(a, (*session.Session).ExportPage),
		"_droid/search":              a.search,
		"_droid/report":              extension(a, (*session.Session).ReportTo),
	}
}

// extension returns the handler of a method that f serves, with params of type P besides the session's id and a result of type R. f is
// called with the session's lock; its context ends when the request is cancelled.
func extension[P, R any](a *Agent, f func(s *session.Session, ctx context.Context, params P) (R, *jsonrpc.Error)) wire.Handler {
	return func(c *wire.Call) (_ any, err *jsonrpc.Error) {
		var params P
		if err := acperr.Decode(c.Params, &params); err != nil {
			return nil, err
		}
		s, ticket, err := a.lookup(c)
		if err != nil {
			return nil, err
		}
		if err = s.Enter(ticket.Release); err != nil {
			return nil, err
		}
		defer s.Exit(&err)
		return f(s, c.Context, params)
	}
}

// query returns an extension that needs the session's id alone.
func query[R any](a *Agent, f func(s *session.Session, ctx context.Context) (R, *jsonrpc.Error)) wire.Handler {
	return extension(a, func(s *session.Session, ctx context.Context, _ struct{}) (R, *jsonrpc.Error) { return f(s, ctx) })
}

// snapshot returns an extension that needs the session's id alone, and does not wait.
func snapshot[R any](a *Agent, f func(s *session.Session) R) wire.Handler {
	return extension(a, func(s *session.Session, _ context.Context, _ struct{}) (R, *jsonrpc.Error) { return f(s), nil })
}
