package session

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
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
		err = p.awaitTaken(c.Context)
	}
	if err != nil {
		return nil, err
	}
	return outcome, nil
}

// awaitTaken waits until droid has a message that joins a turn. The end of ctx takes it back, unless it is on its way to droid.
func (p *userPrompt) awaitTaken(ctx context.Context) *jsonrpc.Error {
	select {
	case err := <-p.joined.taken:
		return err
	case <-ctx.Done():
	}
	p.s.mu.Post(func() {
		if p.s.prompts.InLine(p.id) {
			p.joined.settle(acperr.Cancelled())
			p.s.prompts.CancelOne(time.Now(), p.id)
		}
	})
	return <-p.joined.taken
}

// joinedMessage holds the state of a user message that belongs to the running prompt: the text of a refusal, or a steering
// message. It ends with that prompt.
type joinedMessage struct {
	host  *userPrompt         // the prompt
	words string              // of a refusal; "" for a steering message
	own   bool                // the agent refused, and the user has read why in a notice
	shown bool                // the editor has been sent it
	taken chan *jsonrpc.Error // receives nil when droid has it, or why it does not; nil if there is no waiter
}

// reachedModel notes that droid has the message.
func (f *joinedMessage) reachedModel() {
	if f != nil {
		f.settle(nil)
	}
}

// settle says what became of the message. Only the first time counts.
func (f *joinedMessage) settle(err *jsonrpc.Error) {
	select {
	case f.taken <- err:
	default:
	}
}

// join adds a message to the prompt that runs, which is Joinable.
func (p *userPrompt) join(when turns.When) {
	s := p.s
	p.joined.host = s.prompts.Get(s.prompts.Host())
	p.session = p.joined.host.session
	p.id = s.prompts.Add(p)
	s.prompts.Join(p.id, when)
}

// queueRefusal has the model get what the user says with a refusal. droid ends its turn
// with a refusal (0.99 to 0.225), so the words go there as a further message of the same
// prompt when that has happened. What is said with several refusals goes as one.
func (s *Session) queueRefusal(text string) {
	unsent := func(p *userPrompt) bool {
		return p.joined != nil && p.joined.words != "" && !p.joined.shown && !p.joined.own
	}
	switch p := s.prompts.Find(unsent); {
	case p != nil:
		p.joined.words += "\n\n" + text
	case s.prompts.Joinable():
		(&userPrompt{s: s, cancelPreparation: func() {}, joined: &joinedMessage{words: text}}).join(turns.Behind)
	default:
		s.notifyUnsaid(text)
	}
}

// refuseFor explains to the user why what they allowed is refused, and sends the model the same as the text of a refusal.
func (s *Session) refuseFor(why string) {
	s.update(render.Notice(why))
	if s.prompts.Joinable() {
		(&userPrompt{s: s, cancelPreparation: func() {}, joined: &joinedMessage{words: why, own: true}}).join(turns.Behind)
	}
}

// messageEnded takes the end of a message that belongs to a prompt.
func (s *Session) messageEnded(end turns.Merged) {
	p := s.prompts.Remove(end.ID)
	defer p.joined.settle(acperr.Lost()) // where this panics
	p.cancelPreparation()
	host := p.joined.host
	host.used = sumUsage(host.used, p.used)
	switch {
	case p.joined.words != "":
		if end.Unsent && !p.joined.own {
			s.notifyUnsaid(p.joined.words)
		}
	case !end.Unsent && end.Err == nil:
		p.joined.reachedModel()
	default: // also if droid died and may have had the message
		err := acperr.InvalidRequest("the turn was cancelled before droid had the message; send it as a prompt")
		if end.Err != nil {
			_, err = acperr.Stop(turns.End{Err: end.Err}, s.prompts.GaveUp())
		}
		p.joined.settle(err)
	}
}

// notifyUnsaid notifies the user that the model does not get a message.
func (s *Session) notifyUnsaid(text string) {
	s.notify("What you said with your refusal did not reach the model: " + text)
}
