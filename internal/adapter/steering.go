package adapter

import (
	"encoding/json"
	"time"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/jsonrpc"
)

// promptRequired is what a client sends as idleBehavior when it wants to send the message
// as a prompt by itself where no turn runs.
const promptRequired = "promptRequired"

// steeringMeta tells clients in the result of initialize that protocol.SteeringMethod is there.
func steeringMeta() map[string]any {
	return map[string]any{"steering": map[string]any{"supported": true}}
}

// steered is the result of protocol.SteeringMethod.
type steered struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
}

var (
	outcomeInjected       = steered{Outcome: "injected"}
	outcomePromptRequired = steered{Outcome: promptRequired, Reason: "noRunningTurn"}
	outcomeStarted        = steered{Outcome: "startedNewTurn"}
)

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
	if b := params.Meta.Steering.IdleBehavior; b != nil && *b != promptRequired {
		return nil, acperr.InvalidParams("unsupported _meta.steering.idleBehavior %q; the one there is is %q", *b, promptRequired)
	}
	s, place, err := a.reach(c)
	if err != nil {
		return nil, err
	}
	defer place.Release()
	p, err := a.readPrompt(c.Context, s, params.SessionID, params.Prompt)
	if err != nil {
		return nil, err
	}
	outcome, err := p.steer(c, place, params.asksBack())
	if err == nil && p.joined != nil {
		err = <-p.joined.taken
	}
	if err != nil {
		return nil, err
	}
	return outcome, nil
}

// steer takes a message for the turn that runs, or for one of its own. Where further is set then, droid is still to get it.
func (p *userPrompt) steer(c *wire.Call, place *ticket, asksBack bool) (outcome any, err *jsonrpc.Error) {
	s := p.s
	if err = s.enter(place.Release); err != nil {
		return nil, err
	}
	defer s.exit(&err)
	if err := s.takesNothing(); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	switch {
	case s.prompts.Joinable():
		s.show.PromptShown()
		p.joined = &joinedMessage{shown: true, taken: make(chan *jsonrpc.Error, 1)}
		p.join(turns.Soon)
		s.cancelIfLate(place)
		return outcomeInjected, nil
	case asksBack:
		return outcomePromptRequired, nil
	}
	s.deps.respond(c, outcomeStarted, nil) // the turn's updates come behind that
	p.began = time.Now()
	p.accept()
	s.cancelIfLate(place)
	return outcomeStarted, nil
}
