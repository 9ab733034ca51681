package adapter

import (
	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/options"
	"droid-acp/internal/problem"
	"droid-acp/internal/protocol"
	"droid-acp/internal/wire"
)

// methodSetModel is a method that ACP's schema no longer has. Clients that know models
// but no config options call it.
const methodSetModel = "session/set_model"

// setModel is session/set_model. It sets the config option for the model, so that a
// change by either method shows in the other.
func (a *Agent) setModel(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		SessionID string `json:"sessionId"`
		ModelID   string `json:"modelId"`
	}
	if err := problem.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	if err := checkSessionID(params.SessionID); err != nil {
		return nil, err
	}
	if params.ModelID == "" {
		return nil, problem.InvalidParams("modelId is missing")
	}
	return a.askToSet(c, params.SessionID, options.Model, params.ModelID, func(*Session) any { return struct{}{} })
}

// sessionResult is what the editor is told of the session when it is opened or loaded.
// The editor believes it from then on.
func (s *Session) sessionResult() protocol.SessionResult {
	s.out.Told(s.options.Updates()...)
	return protocol.SessionResult{Modes: s.options.Modes(), Models: s.options.SessionModels(), ConfigOptions: s.options.ListUpdate().ConfigOptions}
}
