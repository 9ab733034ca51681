package adapter

import (
	"encoding/json"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/jsonrpc"
)

// steeringMeta returns the part of initialize's result that announces protocol.SteeringMethod.
func steeringMeta() map[string]any {
	return map[string]any{"steering": map[string]any{"supported": true}}
}

// steeringParams are the params of protocol.SteeringMethod.
type steeringParams struct {
	SessionID string          `json:"sessionId"`
	Prompt    json.RawMessage `json:"prompt"`
	Meta      struct {
		Steering struct {
			IdleBehavior *string `json:"idleBehavior"`
		} `json:"steering"`
	} `json:"_meta"`
}

// asksBack reports whether the client wants to send the message itself where no turn
// runs.
func (p *steeringParams) asksBack() bool { return p.Meta.Steering.IdleBehavior != nil }

// steer is _session/steering. The answer "injected" comes when droid has the message. It
// belongs to the running prompt from then on: that has no response before droid has
// answered it, whether droid takes it into the turn or runs it right behind.
func (a *Agent) steer(c *wire.Call) (any, *jsonrpc.Error) {
	var params steeringParams
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	if b := params.Meta.Steering.IdleBehavior; b != nil && *b != session.PromptRequired {
		return nil, acperr.InvalidParams("unsupported _meta.steering.idleBehavior %q; the one there is is %q", *b, session.PromptRequired)
	}
	s, ticket, err := a.lookup(c)
	if err != nil {
		return nil, err
	}
	defer ticket.Release()
	return s.Steer(c, ticket, params.SessionID, params.Prompt, params.asksBack())
}
