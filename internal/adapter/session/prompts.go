package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/prompt"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/files"
)

// userPrompt is a session/prompt without a response yet. The turn machine decides which prompt runs and how it ends; userPrompt holds the
// rest.
type userPrompt struct {
	s       *Session
	id      turns.ID
	session string        // the id that the editor sent it to
	call    *wire.Call    // nil for a message of protocol.SteeringMethod
	line    int64         // of its request, see wire.Call.Line
	ended   chan struct{} // closed when it has its response, which is result or err
	result  any
	err     *jsonrpc.Error
	began   time.Time // of a turn that a steering message began, which has no response; zero for all others

	marks   prompt.Marks       // of all that the editor sent, where it may come again
	content prompt.Prompt      // without what came again; what the session makes of it is message
	message stream.UserMessage // made when the prompt goes to droid, see compose
	schema  json.RawMessage    // that the answer must have the form of; nil for none
	output  json.RawMessage    // the answer in that form, from droid; nil before and for none
	missing map[string]bool    // of each linked file whether it was not there, by path
	typed   string             // the text as the user typed it, commands not expanded
	notes   []string           // about the user's shell commands; message begins with them
	command *commandRun        // the command of this agent that the prompt is; nil for a prompt to droid
	joined  *joinedMessage     // as a message that belongs to another prompt; nil for a separate prompt

	question          *openQuestion      // that the user has not answered, nil for none
	cancelPreparation context.CancelFunc // ends its preparation; see begin
	cancelled         bool               // it has ended as cancelled
	responded         bool               // it has its response
	failureID         string             // of what reportFailure has sent
	failures          int                // how often it has
	failed            *jsonrpc.Error     // the error that was shown as a Notice, because this client does not show errors well

	used stream.TokenUsage // by droid's turns for it, set before it is answered
}

// kind returns who answers the prompt: droid, a shell command or this agent.
func (p *userPrompt) kind() turns.Kind {
	switch {
	case p.schema != nil:
		return turns.Alone
	case p.command == nil:
		return turns.ToDroid
	case p.command.Kind == turns.Setting && p.command.args == "":
		return turns.Here
	}
	return p.command.Kind
}

// submit queues the prompt of a request.
func (p *userPrompt) submit(ticket *Ticket) (err *jsonrpc.Error) {
	if err = p.s.Enter(ticket.Release); err != nil {
		return err
	}
	defer p.s.Exit(&err)
	p.accept()
	p.s.cancelIfLate(ticket)
	return nil
}

// answer responds to a prompt that has ended. A client that mistakes the error of a prompt for an agent that did not start gets the error
// as a Notice and an ordinary end. For other clients the error is separated from the text before it.
func (p *userPrompt) answer(stop acp.StopReason, err *jsonrpc.Error) {
	s := p.s
	p.reportError(err)
	switch {
	case !p.began.IsZero():
		logTurn(s.log, p.began, stop, err)
		if err != nil {
			s.update(render.Message("The turn failed: " + err.Message))
		}
	case err == nil:
	case !s.deps.Client.MisreadsPromptErrors:
		s.update(s.show.BeforeError()...)
	case err.Code != acperr.CodeCancelled:
		s.notify(strings.ReplaceAll(acperr.Text(err), "\n", "  \n")) // which Markdown shows as lines
		p.failed, stop, err = err, acp.StopReasonEndTurn, nil
	}
	if err != nil {
		p.respond(nil, err)
	} else {
		p.respond(protocol.PromptResult{StopReason: stop, Usage: promptUsage(p.used), Meta: protocol.PromptMeta(p.failed, p.output)}, nil)
	}
}

// respond answers a prompt that is a request, once.
func (p *userPrompt) respond(result any, err *jsonrpc.Error) {
	if p.responded {
		return
	}
	p.responded, p.result, p.err = true, result, err
	defer close(p.ended) // also where this panics
	if p.call != nil {
		p.s.deps.Respond(p.call, result, err)
	}
}

// cancelPrompts cancels the running prompt and all waiting ones. If none runs, it stops what droid does by itself.
func (s *Session) cancelPrompts() {
	s.prompts.Cancel(time.Now())
	if s.proc.Working() {
		s.prompts.StopUnprompted()
	}
}

// accept takes a prompt: it starts now, or when those before it have ended.
func (p *userPrompt) accept() {
	s := p.s
	if err := s.unfit.Load(); err != nil {
		p.answer("", err)
		return
	}
	if s.ended {
		p.answer(acp.StopReasonCancelled, nil)
		return
	}
	if err := p.checkLine(); err != nil {
		p.answer("", err)
		return
	}
	if stopped := s.prompts.TakeStopped(); stopped != nil {
		p.content = p.content.Without(stopped.marks)
	}
	if err := p.check(); err != nil {
		p.answer("", err)
		return
	}
	p.command = s.commandOf(p.content)
	if p.command != nil && p.schema != nil {
		p.answer("", acperr.InvalidParams("/%s is answered by this agent, and no model: it takes no outputFormat", p.command.Name))
		return
	}
	s.show.PromptShown()
	p.id = s.prompts.Add(p)
	accepted := false
	defer func() {
		if !accepted { // by a panic, which fails the request: the prompt must not run later
			p.respond(nil, acperr.Lost())
			s.prompts.CancelOne(time.Now(), p.id)
		}
	}()
	asked, blocks := s.questions.IsOpen(), s.questions.Block()
	s.prompts.Accept(p.id, p.kind())
	if !s.deps.Client.UpdatesInPromptsOnly() && (asked && s.prompts.InLine(p.id) || blocks && p.command == nil) { // to such a client it comes only now
		s.notify("Your message waits for your answer above.")
	}
	accepted = true
}

// linksTime bounds the look at the files that a prompt links.
const linksTime = 500 * time.Millisecond

// missing returns which of the files that a prompt links do not exist.
func (d *Deps) missing(ctx context.Context, content prompt.Prompt) map[string]bool {
	ctx, cancel := context.WithTimeout(ctx, linksTime)
	defer cancel()
	missing := make(map[string]bool)
	for _, path := range content.Links() {
		_, err := files.CallBounded(ctx, d.Calls, "stat of a link", path, d.Launcher.Stat)
		missing[path] = err != nil && !errors.Is(err, files.ErrHangs)
	}
	return missing
}

// check refuses at once what no session can take. What depends on the session is seen
// when the prompt goes to droid, as what was asked before it may change that.
func (p *userPrompt) check() *jsonrpc.Error {
	message, err := p.content.Message(prompt.Rules{Dir: p.s.cwd, AttachFiles: true})
	if err != nil {
		return acperr.InvalidParams("%v", err)
	}
	p.typed = message.Text
	return nil
}

// compose makes the message of a prompt that is about to go to droid, as the session can
// take it now.
func (p *userPrompt) compose() *jsonrpc.Error {
	s := p.s
	if p.joined != nil && p.joined.words != "" {
		p.message.Text = p.joined.words
		return nil
	}
	message, err := p.content.Message(prompt.Rules{
		Dir:         s.cwd,
		AttachFiles: s.proc.Client() == nil || s.proc.Supports(stream.TakesAttachedFiles),
		BlindModel:  s.options.BlindModel(),
		Missing:     p.missing,
	})
	if err != nil {
		return acperr.InvalidParams("%v", err)
	}
	p.message, p.message.Schema = message, p.schema
	return p.refusedProgram()
}

// refusedProgram returns why a prompt is not given to droid: it begins with a command that is a program of an untrusted project, which
// droid would run.
func (p *userPrompt) refusedProgram() *jsonrpc.Error {
	client := p.s.proc.Client()
	if client == nil || client.Excluded() == nil || !client.Version().Supports(stream.ExpandsCommands) {
		return nil
	}
	program, ok := client.Excluded().Typed(p.message.Text)
	if !ok {
		return nil
	}
	return acperr.InvalidRequest(fmt.Sprintf("%s is a program of this project, which is not trusted, so it was not run. `/trust` shows what the project brings, and `/trust yes` lets it run", program.File))
}

// cancelIfLate cancels the prompts if a cancel came while this one was on its way to the session.
func (s *Session) cancelIfLate(p *Ticket) {
	if p.WasCancelled() {
		s.cancelPrompts()
	}
}

// Cancel cancels the running prompt and all waiting ones. It does not wait. It does nothing if the session has ended.
func (s *Session) Cancel() { s.mu.Post(s.cancelPrompts) }

// Prompt adds a prompt to the session's queue and waits until it has ended. It returns the response, which has been sent. session is the id
// that the editor used, and blocks is the content. schema, if not nil, is the JSON schema of the answer. The end of c's context cancels the
// prompt.
func (s *Session) Prompt(c *wire.Call, ticket *Ticket, session string, blocks, schema json.RawMessage) (any, *jsonrpc.Error) {
	p, err := s.readPrompt(session, blocks) // and nothing that may block: requests before this one may still fail it
	if err != nil {
		return nil, err
	}
	p.call, p.line, p.schema = c, c.Line, schema
	if err := p.submit(ticket); err != nil {
		return nil, err
	}
	select {
	case <-p.ended:
	case <-c.Context.Done(): // by $/cancel_request, by the end of the connection, or by respond; CancelOne ignores a prompt that has ended
		s.mu.Post(func() { s.prompts.CancelOne(time.Now(), p.id) })
		<-p.ended
	}
	return p.result, p.err // for the log: the response has left in respond
}

// readPrompt decodes the content of a prompt.
func (s *Session) readPrompt(session string, blocks json.RawMessage) (*userPrompt, *jsonrpc.Error) {
	content, err := prompt.Parse(blocks)
	if err != nil {
		return nil, acperr.InvalidParams("%v", err)
	}
	p := &userPrompt{s: s, ended: make(chan struct{}), cancelPreparation: func() {}, session: session, content: content}
	if s.deps.Client.ResendsStoppedPrompt {
		p.marks = content.Marks()
	}
	return p, nil
}
