package adapter

import (
	"context"
	"encoding/json"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// The extension methods that tell the state of a session, or change it, without its
// history.

// statsResult is the result of _droid/stats.
type statsResult struct {
	Tokens   stream.TokenUsage `json:"tokens"`
	LastCall stream.TokenUsage `json:"lastCall"`
	Context  *contextUse       `json:"context"` // null where droid does not tell
}

// contextUse is how full the context window is, in tokens.
type contextUse struct {
	Used int64 `json:"used"`
	Size int64 `json:"size"`
}

func (s *Session) stats(_ context.Context, _ NoParams) (statsResult, *jsonrpc.Error) {
	told := s.usage.told
	result := statsResult{Tokens: told.Total, LastCall: told.LastCall}
	if used, size := s.usage.used, s.usage.size; size > 0 {
		result.Context = &contextUse{used, size}
	}
	return result, nil
}

// commandsResult is the result of _droid/commands.
type commandsResult struct {
	Commands []protocol.AvailableCommand `json:"commands"`
}

func (s *Session) commandList(_ context.Context, _ NoParams) (commandsResult, *jsonrpc.Error) {
	return commandsResult{s.allCommands()}, nil
}

// modelsResult is the result of _droid/models; the models are in droid's shape.
type modelsResult struct {
	CurrentModelID string            `json:"currentModelId"`
	Models         []json.RawMessage `json:"models"`
}

func (s *Session) models(_ context.Context, _ NoParams) (modelsResult, *jsonrpc.Error) {
	models := []json.RawMessage{}
	for _, m := range s.options.Models() {
		models = append(models, m.Raw)
	}
	return modelsResult{options.OrEmpty(s.options.Settings().ModelID), models}, nil
}

// autoCompactionParams are the params of _droid/set_auto_compaction.
type autoCompactionParams struct {
	Enabled *bool `json:"enabled"`
}

// autoCompactionResult has droid's setting after the change.
type autoCompactionResult struct {
	Enabled bool `json:"enabled"`
}

func (s *Session) switchAutoCompaction(ctx context.Context, p autoCompactionParams) (autoCompactionResult, *jsonrpc.Error) {
	if p.Enabled == nil {
		return autoCompactionResult{}, acperr.InvalidParams("enabled is missing")
	}
	change, err := s.awaitTurn(ctx, turns.Session)
	if err != nil {
		return autoCompactionResult{}, err
	}
	defer s.prompts.FinishChange(change, nil)
	return autoCompactionResult{*p.Enabled}, s.setAutoCompaction(s.Context, *p.Enabled)
}

// NoParams are the params of a method that needs none.
type NoParams struct{}

// currentState is _droid/state.
func (s *Session) currentState(context.Context, NoParams) (State, *jsonrpc.Error) {
	return s.State(), nil
}
