package session

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

// Extension methods that return the state of a session, or change it, without its history.

// StatsResult is the result of _droid/stats.
type StatsResult struct {
	Tokens   stream.TokenUsage `json:"tokens"`
	LastCall stream.TokenUsage `json:"lastCall"`
	Context  *contextUse       `json:"context"` // null if droid does not report it
}

// contextUse is how full the context window is, in tokens.
type contextUse struct {
	Used int64 `json:"used"`
	Size int64 `json:"size"`
}

// Stats returns how many tokens the session has used.
func (s *Session) Stats() StatsResult {
	told := s.usage.told
	result := StatsResult{Tokens: told.Total, LastCall: told.LastCall}
	if used, size := s.usage.used, s.usage.size; size > 0 {
		result.Context = &contextUse{used, size}
	}
	return result
}

// CommandsResult is the result of _droid/commands.
type CommandsResult struct {
	Commands []protocol.AvailableCommand `json:"commands"`
}

// ListedCommands returns the commands that the editor is offered.
func (s *Session) ListedCommands() CommandsResult { return CommandsResult{s.allCommands()} }

// ModelsResult is the result of _droid/models; the models are in droid's shape.
type ModelsResult struct {
	CurrentModelID string            `json:"currentModelId"`
	Models         []json.RawMessage `json:"models"`
}

// Models returns the models that droid offers.
func (s *Session) Models() ModelsResult {
	models := []json.RawMessage{}
	for _, m := range s.options.Models() {
		models = append(models, m.Raw)
	}
	return ModelsResult{options.OrEmpty(s.options.Settings().ModelID), models}
}

// AutoCompactionParams are the params of _droid/set_auto_compaction.
type AutoCompactionParams struct {
	Enabled *bool `json:"enabled"`
}

// AutoCompactionResult has droid's setting after the change.
type AutoCompactionResult struct {
	Enabled bool `json:"enabled"`
}

// SwitchAutoCompaction switches automatic compaction in its turn.
func (s *Session) SwitchAutoCompaction(ctx context.Context, p AutoCompactionParams) (AutoCompactionResult, *jsonrpc.Error) {
	if p.Enabled == nil {
		return AutoCompactionResult{}, acperr.InvalidParams("enabled is missing")
	}
	change, err := s.beginChange(ctx, turns.General)
	if err != nil {
		return AutoCompactionResult{}, err
	}
	defer s.prompts.FinishChange(change, nil)
	return AutoCompactionResult{*p.Enabled}, s.setAutoCompaction(s.Context, *p.Enabled)
}
