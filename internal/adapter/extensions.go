package adapter

import (
	"context"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/jsonrpc"
)

// extensions are the methods for programs, by their names. docs/programs.md has
// their params, results and errors.
func (a *Agent) extensions() map[string]wire.Handler {
	return map[string]wire.Handler{
		"_droid/state":               extension(a, stateExtension),
		"_droid/stats":               extension(a, statsExtension),
		"_droid/messages":            extension(a, messagesExtension),
		"_droid/last_assistant_text": extension(a, lastTextExtension),
		"_droid/rewind_points":       extension(a, rewindPointsExtension),
		"_droid/rewind":              extension(a, rewindExtension),
		"_droid/commands":            extension(a, commandsExtension),
		"_droid/models":              extension(a, modelsExtension),
		"_droid/set_auto_compaction": extension(a, autoCompactionExtension),
		"_droid/export":              extension(a, exportExtension),
		"_droid/report":              extension(a, reportExtension),
	}
}

// noParams are the params of an extension method that needs the session's id alone.
type noParams struct{}

// extension is the method that f serves, with params of type P beside the session's id and a result of type R. f has the
// session's lock, and ends early when the request is cancelled.
func extension[P, R any](a *Agent, f func(ctx context.Context, s *Session, params P) (R, *jsonrpc.Error)) wire.Handler {
	return func(c *wire.Call) (_ any, err *jsonrpc.Error) {
		var params P
		if err := acperr.Decode(c.Params, &params); err != nil {
			return nil, err
		}
		s, place, err := a.reach(c)
		if err != nil {
			return nil, err
		}
		if err = s.enter(place.Release); err != nil {
			return nil, err
		}
		defer s.exit(&err)
		return f(c.Context, s, params)
	}
}
