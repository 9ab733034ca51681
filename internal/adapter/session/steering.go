package session

import (
	"cmp"
	"encoding/json"
	"time"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/jsonrpc"
)

// PromptRequired is the value of idleBehavior by which a client asks to send the message as a prompt itself if no turn runs.
const PromptRequired = "promptRequired"

// steered is the result of protocol.SteeringMethod.
type steered struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
}

var (
	outcomeInjected       = steered{Outcome: "injected"}
	outcomePromptRequired = steered{Outcome: PromptRequired, Reason: "noRunningTurn"}
	outcomeStarted        = steered{Outcome: "startedNewTurn"}
)

// steer takes a message for the running turn, or for a separate turn.
func (p *userPrompt) steer(c *wire.Call, ticket *Ticket, asksBack bool) (outcome any, err *jsonrpc.Error) {
	s := p.s
	if err = s.Enter(ticket.Release); err != nil {
		return nil, err
	}
	defer s.Exit(&err)
	if err := s.checkOpen(); err != nil {
		return nil, err
	}
	if err := cmp.Or(p.checkLine(), p.check()); err != nil {
		return nil, err
	}
	switch {
	case s.prompts.Joinable():
		s.show.PromptShown()
		p.joined = &joinedMessage{shown: true, taken: make(chan *jsonrpc.Error, 1)}
		p.join(turns.Soon)
		s.cancelIfLate(ticket)
		return outcomeInjected, nil
	case asksBack:
		return outcomePromptRequired, nil
	}
	s.deps.Respond(c, outcomeStarted, nil) // the turn's updates come behind that
	p.began = time.Now()
	p.accept()
	s.cancelIfLate(ticket)
	return outcomeStarted, nil
}

// Steer adds a message to the running turn, and waits until droid has it, or begins a turn with it. It returns the result of the request.
// session is the id that the editor used, and blocks is the content. asksBack is whether the client sends the message as a prompt itself if no
// turn runs.
func (s *Session) Steer(c *wire.Call, ticket *Ticket, session string, blocks json.RawMessage, asksBack bool) (any, *jsonrpc.Error) {
	p, err := s.readPrompt(session, blocks)
	if err != nil {
		return nil, err
	}
	p.line = c.Line
	p.missing = s.deps.missing(c.Context, p.content) // a message that joins a turn is not prepared
	outcome, err := p.steer(c, ticket, asksBack)
	if err == nil && p.joined != nil {
		err = <-p.joined.taken
	}
	if err != nil {
		return nil, err
	}
	return outcome, nil
}
