package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"droid-acp/internal/bounded"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/files"
	"droid-acp/internal/owner"
	"droid-acp/internal/problem"
	"droid-acp/internal/prompt"
	"droid-acp/internal/protocol"
	"droid-acp/internal/turns"
	"droid-acp/internal/usage"
	"droid-acp/internal/wire"
)

// userPrompt is one session/prompt that has no response yet. The turn machine decides
// which prompt runs and how it ends; this is what the prompt is made of.
type userPrompt struct {
	id      turns.ID
	session string // the id that the editor sent it to
	request *wire.Response
	answer  func(acp.StopReason, *acp.RequestError) // called once, by endPrompt

	content prompt.Prompt      // as the editor sent it; what the session makes of it is message
	message stream.UserMessage // made when the prompt goes to droid, see compose
	missing map[string]bool    // of each linked file whether it was not there, by path
	typed   string             // the text as the user typed it, commands not expanded
	notes   []string           // about the user's shell commands; message begins with them
	command *slashRun          // the command of this agent that the prompt is; nil for a prompt to droid
	further *further           // what it is as a message that belongs to another prompt; nil for a prompt of its own

	attempt   int  // how often it has needed a droid
	cancelled bool // it has ended as cancelled

	used stream.TokenUsage // by droid's turns for it, set before it is answered
}

// kind is who answers the prompt: droid, a shell command or this agent.
func (p *userPrompt) kind() turns.Kind {
	switch {
	case p.command == nil:
		return turns.ToDroid
	case p.command.name == commandShell:
		return turns.Process
	}
	return turns.Here
}

// prompts are the prompts of a session, and the machine that decides about them.
type prompts struct {
	machine *turns.Machine
	open    map[turns.ID]*userPrompt // accepted, without an ending
	lastID  turns.ID

	actions  []turns.Action // that the machine wants, in order
	carrying bool           // carryOut is at work on them
}

func newPrompts(steering bool) prompts {
	q := prompts{machine: turns.New(uuid.NewString), open: make(map[turns.ID]*userPrompt)}
	q.machine.SetSteering(steering)
	return q
}

// add gives a prompt its id.
func (q *prompts) add(p *userPrompt) {
	q.lastID++
	p.id = q.lastID
	q.open[p.id] = p
}

// join adds a message that belongs to the prompt that runs. It reports false when no
// such prompt takes one.
func (q *prompts) join(p *userPrompt, when turns.When) (actions []turns.Action, ok bool) {
	q.add(p)
	host, ok, actions := q.machine.Join(p.id, when)
	if !ok {
		q.remove(p.id)
		return nil, false
	}
	p.session, p.further.host = q.open[host].session, q.open[host]
	return actions, true
}

// unsentWords are the words of a refusal that wait for the end of droid's turn, nil for
// none.
func (q *prompts) unsentWords() *userPrompt {
	for _, p := range q.open {
		if p.further != nil && p.further.words != "" && !p.further.shown {
			return p
		}
	}
	return nil
}

// remove takes a prompt that ends.
func (q *prompts) remove(id turns.ID) *userPrompt {
	p := q.open[id]
	delete(q.open, id)
	return p
}

// of is the prompt that droid has under a request id, nil for none.
func (q *prompts) of(request string) *userPrompt {
	id, ok := q.machine.IDOf(request)
	if !ok {
		return nil
	}
	return q.open[id]
}

// runs reports whether a prompt is the one that runs.
func (q *prompts) runs(p *userPrompt) bool {
	id, ok := q.machine.Running()
	return ok && p != nil && id == p.id
}

// has reports whether a prompt has no ending yet.
func (q *prompts) has(p *userPrompt) bool { return q.machine.Has(p.id) }

// next takes the next action to carry out. Only carryOut calls it, so the actions that
// follow from this one are carried out after those that are queued already.
func (q *prompts) next() (a turns.Action, ok bool) {
	if len(q.actions) == 0 {
		return nil, false
	}
	a = q.actions[0]
	q.actions = slices.Delete(q.actions, 0, 1)
	return a, true
}

// begin queues actions. It reports whether the caller is to carry them out: not if there
// are none, or if carryOut is at work already.
func (q *prompts) begin(actions []turns.Action) bool {
	q.actions = append(q.actions, actions...)
	if q.carrying || len(q.actions) == 0 {
		return false
	}
	q.carrying = true
	return true
}

func (q *prompts) done() { q.carrying = false }

// prompt is session/prompt. The prompts of one session run one after the other.
func (a *Agent) prompt(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		SessionID string          `json:"sessionId"`
		Prompt    json.RawMessage `json:"prompt"`
	}
	if err := problem.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	s, place, err := a.reach(c, params.SessionID)
	if err != nil && err.Code == problem.CodeCancelled {
		return protocol.PromptResult{StopReason: acp.StopReasonCancelled}, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := a.readPrompt(c.Context, params.SessionID, params.Prompt)
	if err != nil {
		place.Leave()
		return nil, err
	}
	p.request = c.Response
	stop, err := owner.Ask(s.Owner, owner.Inquiry[acp.StopReason]{
		Work: func(answer func(acp.StopReason, *acp.RequestError)) {
			p.answer = answer
			s.accept(p)
			s.cancelIfLate(place)
		},
		Ordered: place.Leave,
		// $/cancel_request ends ctx before there is a response: the prompt is
		// cancelled as by session/cancel, and answered with that stop reason.
		Context: c.Context,
		Cancelled: func(func(acp.StopReason, *acp.RequestError)) {
			s.carryOut(s.prompts.machine.CancelOne(time.Now(), p.id))
		},
		// The panic may have been another prompt's.
		Held: func() bool { return s.prompts.has(p) },
	})
	if err != nil {
		return nil, err
	}
	return protocol.PromptResult{StopReason: stop, Usage: usage.Of(p.used)}, nil
}

// cancelTurn is session/cancel: it ends the running prompt and the waiting ones.
func (a *Agent) cancelTurn(c *wire.Call) (any, *acp.RequestError) {
	id, err := idOf(c)
	if err != nil {
		return nil, err
	}
	s, known := a.sessions.Cancel(id)
	if !known {
		return nil, problem.UnknownSession(id)
	}
	s.Post(s.cancelPrompts) // a session that has ended has nothing to cancel
	return nil, nil
}

// cancelPrompts cancels the running prompt and all waiting ones.
func (s *Session) cancelPrompts() {
	s.carryOut(s.prompts.machine.Cancel(time.Now()))
	if s.proc.Working() {
		s.carryOut(s.prompts.machine.StopOther())
	}
}

// accept takes a prompt: it starts now, or when those before it have ended.
func (s *Session) accept(p *userPrompt) {
	if err := s.Refusal(); err != nil {
		p.answer("", err)
		return
	}
	if s.ended {
		p.answer(acp.StopReasonCancelled, nil)
		return
	}
	if err := s.checkPrompt(p); err != nil {
		p.answer("", err)
		return
	}
	s.show.Prompted()
	p.command = s.commandOf(p.content)
	s.prompts.add(p)
	s.carryOut(s.prompts.machine.Accept(p.id, p.kind()))
}

// linksTime bounds the look at the files that a prompt links.
const linksTime = 500 * time.Millisecond

// readPrompt reads what the editor sent, and looks which of the files that it links are not
// there.
func (a *Agent) readPrompt(ctx context.Context, session string, blocks json.RawMessage) (*userPrompt, *acp.RequestError) {
	content, err := prompt.Parse(blocks)
	if err != nil {
		return nil, problem.InvalidParams("%v", err)
	}
	return &userPrompt{session: session, content: content, missing: a.missing(ctx, content)}, nil
}

// missing tells of each file that a prompt links whether it is not there.
func (a *Agent) missing(ctx context.Context, content prompt.Prompt) map[string]bool {
	ctx, cancel := context.WithTimeout(ctx, linksTime)
	defer cancel()
	missing := make(map[string]bool)
	_, _ = content.Message(prompt.Rules{Missing: func(path string) bool { // checkPrompt tells what is wrong with it
		_, err := bounded.Do(ctx, a.calls, "stat of a link", path, a.opener.Stat)
		missing[path] = err != nil && !errors.Is(err, files.ErrHangs)
		return false
	}})
	return missing
}

// whenLinksSeen calls then when it is known which of the files that a prompt links are there
// now: the turn before may have made or removed them.
func (s *Session) whenLinksSeen(p *userPrompt, then func()) {
	if len(p.missing) == 0 {
		then()
		return
	}
	content := p.content
	s.workFor(p, "a look at the files that it links", func(ctx context.Context) func() {
		missing := s.agent.missing(ctx, content)
		return func() { p.missing = missing; then() }
	})
}

// checkPrompt refuses at once what no session can take. What depends on the session is seen
// when the prompt goes to droid, as what was asked before it may change that.
func (s *Session) checkPrompt(p *userPrompt) *acp.RequestError {
	message, err := p.content.Message(anySession(s.cwd))
	if err != nil {
		return problem.InvalidParams("%v", err)
	}
	p.typed = message.Text
	return nil
}

// compose makes the message of a prompt that is about to go to droid, as the session can
// take it now. It puts the text of a command in the place of its name, where droid does
// not do that.
func (s *Session) compose(p *userPrompt) *acp.RequestError {
	if p.further != nil && p.further.words != "" {
		p.message.Text = p.further.words
		return nil
	}
	message, err := p.content.Message(s.promptRules(p))
	if err != nil {
		return problem.InvalidParams("%v", err)
	}
	p.message = message
	p.message.Text = s.commands.Expand(message.Text)
	return s.refusedProgram(p.message.Text)
}

// works reports whether a prompt runs.
func (s *Session) works() bool {
	_, runs := s.prompts.machine.Running()
	return runs
}

// busy reports whether a prompt runs or waits here.
func (s *Session) busy() bool { return s.works() || s.prompts.machine.Queued() }

// stopsTurn reports whether the prompt that runs was cancelled.
func (s *Session) stopsTurn() bool {
	id, runs := s.prompts.machine.Running()
	return runs && s.prompts.machine.Cancelled(id)
}
