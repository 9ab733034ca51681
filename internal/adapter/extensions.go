package adapter

import (
	"context"
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/problem"
)

// extensions are the methods for programs, by their names. docs/programs.md has
// their params, results and errors.
func extensions() map[string]extensionMethod {
	return map[string]extensionMethod{
		"_droid/state":               extensionOf(stateExtension),
		"_droid/stats":               extensionOf(statsExtension),
		"_droid/messages":            extensionOf(messagesExtension),
		"_droid/last_assistant_text": extensionOf(lastTextExtension),
		"_droid/rewind_points":       extensionOf(rewindPointsExtension),
		"_droid/commands":            extensionOf(commandsExtension),
		"_droid/models":              extensionOf(modelsExtension),
		"_droid/set_auto_compaction": extensionOf(autoCompactionExtension),
		"_droid/export":              extensionOf(exportExtension),
	}
}

// extensionMethod reads the params of an extension method and returns its work, which is a task of the
// session's.
type extensionMethod func(params json.RawMessage) (work extensionWork, err *acp.RequestError)

// extensionWork ends early when the request is cancelled.
type extensionWork func(ctx context.Context, s *Session, t *owner.Task) (any, *acp.RequestError)

// extensionOf is the method that f serves, with params of type P beside the
// session's id and a result of type R.
func extensionOf[P, R any](f func(ctx context.Context, s *Session, t *owner.Task, params P) (R, *acp.RequestError)) extensionMethod {
	return func(raw json.RawMessage) (extensionWork, *acp.RequestError) {
		var params P
		if err := problem.Decode(raw, &params); err != nil {
			return nil, err
		}
		return func(ctx context.Context, s *Session, t *owner.Task) (any, *acp.RequestError) {
			return f(ctx, s, t, params)
		}, nil
	}
}

// noParams are the params of an extension method that needs the session's id alone.
type noParams struct{}

// extension makes a handler of an extension method.
func (a *Agent) extension(method extensionMethod) wire.Handler {
	return func(c *wire.Call) (any, *acp.RequestError) {
		work, err := method(c.Params)
		if err != nil {
			return nil, err
		}
		id, err := idOf(c)
		if err != nil {
			return nil, err
		}
		s, place, err := a.reach(c, id)
		if err != nil {
			return nil, err
		}
		return owner.Ask(s.Owner, place.Leave, func(t *owner.Task) (any, *acp.RequestError) { return work(c.Context, s, t) })
	}
}
