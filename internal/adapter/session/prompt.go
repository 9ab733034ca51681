package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/adapter/internal/prompt"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
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
	line    int64         // of its request, or of the message of protocol.SteeringMethod, see wire.Call.Line
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
	endedCancelled    bool               // it has ended as cancelled
	responded         bool               // it has its response
	failureID         string             // of what reportFailure has sent
	failures          int                // how often it has
	failed            *jsonrpc.Error     // for programs: the error that a command replied with, or that was shown as a Notice to a client that does not show errors well

	used stream.TokenUsage // by droid's turns for it, set before it is answered
}

// kind returns who answers the prompt: droid, a shell command or this agent.
func (p *userPrompt) kind() turns.Kind {
	switch {
	case p.schema != nil:
		return turns.Alone
	case p.command == nil:
		return turns.ToDroid
	case p.command.Kind.IsSetting() && p.command.args == "":
		return turns.Here
	}
	return p.command.Kind
}

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

// accept takes a prompt: it starts now, or when those before it have ended.
func (p *userPrompt) accept() {
	s := p.s
	switch err := p.admit(); {
	case err != nil:
		p.answer("", err)
		return
	case s.ended:
		p.answer(acp.StopReasonCancelled, nil)
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
	asked, blocks := s.questions.AwaitUser(), s.questions.Block()
	s.prompts.Accept(p.id, p.kind())
	if !p.responded && !s.deps.Client.UpdatesInPromptsOnly() && (asked && s.prompts.InLine(p.id) || blocks && p.command == nil) { // to such a client it comes only now
		s.notify("Your message waits for your answer above.")
	}
	accepted = true
}

// admit checks the prompt, and finds out whether it is a command of this agent. The error says why no prompt is taken, or not this one.
func (p *userPrompt) admit() *jsonrpc.Error {
	s := p.s
	if err := cmp.Or(s.unfit.Load(), p.checkLine()); err != nil {
		return err
	}
	if s.stopped != nil {
		p.content = p.content.Without(s.stopped.marks)
	}
	if err := p.check(); err != nil {
		return err
	}
	s.stopped = nil
	p.command = s.commandOf(p.content)
	if p.command != nil && p.schema != nil {
		return acperr.InvalidParams("/%s is answered by this agent, and no model: it takes no outputFormat", p.command.Name)
	}
	return nil
}

// refusedLines says that the prompts on the editor's lines up to a number are not to go to droid, and why: they were sent behind what failed,
// such as a stricter mode. Those on their way when its response leaves are not among them: what the connection has not begun to read then is
// not known. One that is sent behind that response goes, as its user knows.
type refusedLines struct {
	upTo int64
	why  error
}

// checkLine returns an error for a prompt that was refused before it reached the session.
func (p *userPrompt) checkLine() (err *jsonrpc.Error) {
	if p.line <= p.s.refused.upTo {
		_, err = acperr.Stop(turns.End{Err: p.s.refused.why}, false)
	}
	return err
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

// act carries out one action of the turn machine, s.prompts, whose methods call it at their end. Where act calls one of them, the actions
// that follow are carried out after those that are left.
func (s *Session) act(a turns.Action) {
	switch a := a.(type) {
	case turns.Begin: // the caller waits in Session.beginChange, and proceeds when the lock is released
	case turns.NeedDroid:
		s.prompts.Get(a.ID).begin()
	case turns.Run:
		p := s.prompts.Get(a.ID)
		s.out.SetID(p.session)
		s.sendKept()
		p.command.begin(p)
	case turns.Look:
		s.prompts.Get(a.ID).look()
	case turns.Send:
		s.prompts.Get(a.ID).send(a.Request, a.Joins)
	case turns.Interrupt:
		s.interrupt()
	case turns.Kill:
		s.endDroid(killed, "it did not stop when a turn was cancelled")
	case turns.Stop:
		s.prompts.Get(a.ID).command.stop()
	case turns.Withdraw:
		s.withdraw(a.Request)
	case turns.Forget:
		s.apply(s.proc.Normalizer().Abort(time.Now(), a.Request))
	case turns.End:
		s.endPrompt(a)
	case turns.Merged:
		s.messageEnded(a)
	case turns.RefuseQuestions:
		s.questions.Refuse()
	default:
		s.log.Error("the turn machine wants what nobody does", zap.Any("action", a))
	}
}

// begin prepares a prompt whose turn has come: it goes to droid when that is there and all else that
// the prompt needs. It is given up when the prompt ends, or needs another droid since this one died.
func (p *userPrompt) begin() {
	s := p.s
	s.out.SetID(p.session)
	s.sendKept()
	s.proc.CancelParking()
	s.usage.due = time.Time{}
	s.commands.NotDue()
	s.lookForOthers()
	s.prompts.SetSteering(s.options.Steers()) // which Looked may have ended
	p.cancelPreparation()                     // one before, if droid has died; the machine ignores what becomes of it
	p.withdrawQuestion()
	ctx, cancel := context.WithCancel(context.Background()) // not s.Context: who waits hears of the session's end by itself
	p.cancelPreparation = cancel
	s.mu.Go(func() {
		client, err := p.prepare(ctx)
		for err == nil && ctx.Err() == nil && (client == nil || s.proc.Client() != client || s.proc.Ending() || s.deps.Accounts.Revoked(client)) {
			client, err = p.prepare(ctx) // something else has ended it, or is to
		}
		switch {
		case ctx.Err() != nil: // the prompt has ended, or is prepared again
		case err != nil:
			s.prompts.Fail(p.id, err)
		default:
			s.prompts.Ready(p.id)
		}
	})
}

// prepare returns the droid that may have the prompt, or why none may; nil if there is none now. Each step may give the lock up. In the meantime
// a stricter mode may be set (see turns.Stricter), and the agent's logins and provider may change, which begin looks at again: what a step uses
// of the session it reads when it has the lock again. Files of the project may change at any time, so that is looked at last.
func (p *userPrompt) prepare(ctx context.Context) (client *droid.Client, err *jsonrpc.Error) {
	s, crashed := p.s, p.s.prompts.Crashed()
	if err := p.renew(ctx); err != nil {
		return nil, err
	}
	client, info, err := s.awaitDroid(ctx, 1)
	if err != nil || ctx.Err() != nil {
		return nil, err
	}
	if err := p.checkModel(); err != nil {
		return nil, err
	}
	if p.schema != nil {
		if err := client.Version().Needs(stream.TakesSchema); err != nil {
			return nil, acperr.NotTaken(err)
		}
	}
	if info != nil && crashed {
		s.update(render.Thought("droid had ended and was started again; the session continues." + s.reportHint()))
	}
	if _, err := p.trust(ctx); err != nil || ctx.Err() != nil {
		return nil, err
	}
	for range mostLooks {
		client = s.proc.Client() // what follows is true of this one
		if err := s.restoreMode(ctx); err != nil {
			return nil, err
		}
		s.servers.Await(time.Now())
		if err := s.waitFor(ctx, "the prompt", needServers); err != nil {
			return nil, err
		}
		p.lookAtLinks(ctx)
		if err := p.checkCommand(ctx); err != nil || ctx.Err() != nil {
			return nil, err
		}
		// The project may have changed over that. Nothing is waited for behind this look.
		if another, err := p.trust(ctx); err != nil || ctx.Err() != nil || !another {
			return client, err
		}
	}
	return nil, projectChanges()
}

// renew ends the droid of a prompt that begins where it must be replaced.
func (p *userPrompt) renew(ctx context.Context) *jsonrpc.Error {
	s := p.s
	client := s.proc.Client()
	if client == nil || s.proc.Ending() || !s.mustRenew(client) {
		return nil
	}
	if err := s.waitFor(ctx, "the prompt", needCalls); err != nil {
		return err
	}
	if s.proc.Client() == client && !s.proc.Ending() {
		s.endDroid(replaced, "it does not know of a login, or has another provider")
	}
	return nil
}

// restoreMode makes sure that droid is in the mode that the session had before droid was started again, or in a stricter one. If it is not,
// droid is asked once more. The error says that it still refuses.
func (s *Session) restoreMode(ctx context.Context) *jsonrpc.Error {
	if s.options.Owed() == "" {
		return nil
	}
	release, failure := s.lockRPC(ctx)
	if failure != nil {
		return failure
	}
	defer release()
	mode := s.options.Owed()
	if mode == "" {
		return nil // the user has set a stricter one, which does not wait for a prompt that is being prepared
	}
	err := s.withDroid(ctx, 1, func(client *droid.Client, _ *stream.SessionInfo) error {
		return s.changeSettings(s.Context, client, stream.ModeSettings(client.Version(), mode))
	})
	_ = s.syncEvents(s.Context) // settings_updated comes before the reply
	if why := whyNoDroid(err); why != nil || s.options.Owed() == "" {
		return why
	}
	return acperr.ModeLost(mode.Title(), s.options.Mode().Title(), err)
}

// lookAtLinks finds out which of the files that a prompt links do not exist. It is called as late as possible, because the turn before
// may make or remove them.
func (p *userPrompt) lookAtLinks(ctx context.Context) {
	if len(p.content.Links()) == 0 {
		return
	}
	content, missing := p.content, map[string]bool(nil)
	p.s.unlockedAs(ctx, "the prompt", "a look at the files that it links", func(ctx context.Context) { missing = p.s.deps.missing(ctx, content) })
	if ctx.Err() == nil {
		p.missing = missing
	}
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

// checkCommand refuses a prompt that begins with a custom command which was removed. droid is asked for its commands first, as one may have
// come or gone just now.
func (p *userPrompt) checkCommand(_ context.Context) *jsonrpc.Error {
	s := p.s
	name, _, ok := commands.Split(p.typed)
	if !ok {
		return nil
	}
	s.lookForCommands(s.Context, lookTime)
	if s.commands.Removed(name) {
		return commandGone(name)
	}
	return nil
}

// commandGone answers a prompt with a command that was removed while droid ran.
func commandGone(name string) *jsonrpc.Error {
	return acperr.InvalidParams("the command /%s was removed, and droid would fail at it. Send the prompt without the slash, or add the command again", name)
}

// send hands a prompt to droid. One that joins goes to a droid that works on another one.
func (p *userPrompt) send(request string, joins bool) {
	s := p.s
	if err := p.compose(); err != nil {
		s.prompts.Rejected(time.Now(), p.id, err)
		return
	}
	p.message.RequestID = request
	if f := p.joined; f != nil && f.words != "" && !f.shown && !f.own {
		f.shown = true
		s.update(render.Echo(f.words))
	}
	if !joins || len(p.notes) > 0 {
		p.addShellNotes()
	}
	if !joins {
		s.proc.RestartSilence(time.Now()) // droid is waited for from now on
	}
	s.apply(s.proc.Normalizer().Begin(time.Now(), request, p.message.Text))
	s.mu.Go(func() {
		client, message, err := s.proc.Client(), p.message, error(nil) // there is one: begin and Machine.joiner have seen to it
		s.unlocked(s.Context, func(ctx context.Context) { err = client.AddUserMessage(ctx, message) })
		p.sent(request, err)
	})
}

// look looks whether a prompt may go to a droid that works on another one: not if the project has changed, or if the user has taken back what
// droid was started with. Then it waits for the end of the turn, and is prepared; a message, which belongs to that turn, ends.
func (p *userPrompt) look() {
	s := p.s
	s.mu.Go(func() {
		joins, why := false, error(acperr.Lost()) // where this panics
		defer func() { s.prompts.Looked(p.id, joins, why) }()
		client := s.proc.Client()
		ended, revoked, unknown := s.killIfChanged(s.Context)
		why = nil
		switch {
		case ended || s.proc.Client() != client: // the next droid gets it
		case unknown != nil:
			why = acperr.NotLooked(s.cwd, unknown)
		case !revoked && !s.deps.Accounts.Revoked(client):
			joins = true
		case p.joined != nil:
			why = acperr.InvalidRequest("droid still has what you have taken back; send this as a prompt when the turn has ended")
		}
	})
}

// compose makes the message of a prompt that is about to go to droid, as the session can
// take it now.
func (p *userPrompt) compose() *jsonrpc.Error {
	s := p.s
	if p.joined != nil && p.joined.words != "" {
		p.message.Text = p.joined.words
		return p.refusedProgram()
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

// sent takes droid's answer to a prompt: nil if droid took it.
func (p *userPrompt) sent(request string, err error) {
	s := p.s
	if p.message.RequestID != request {
		return // the prompt was sent again in the meantime
	}
	if err == nil {
		if s.prompts.Runs(p.id) {
			s.proc.RestartSilence(time.Now())
		}
		p.joined.reachedModel()
		s.prompts.Taken(time.Now(), p.id)
		return // what droid makes of it comes as events, see droid_events.go
	}
	p.keepShellNotes()
	if diesOf(err) {
		return // endWork ends the prompt, or droidExited has the next droid get it
	}
	s.prompts.Rejected(time.Now(), p.id, acperr.NotTaken(err))
}

// refusedLate takes an error of droid's about a prompt that droid had seemed to take.
func (s *Session) refusedLate(ev stream.LateError) {
	if p := s.prompts.Of(ev.RequestID); p != nil {
		p.keepShellNotes()
		s.prompts.Rejected(time.Now(), p.id, acperr.NotTaken(ev.Err))
	}
}

// endPrompt answers a prompt, once.
func (s *Session) endPrompt(end turns.End) {
	p := s.prompts.Remove(end.ID)
	read := s.deps.Conn.Lines()
	if p.command != nil {
		defer func() { p.command.failBehind(end, read) }() // behind the response
	}
	defer p.respond(nil, acperr.Lost()) // where this panics
	p.endedCancelled = end.Cancelled
	p.cancelPreparation()
	p.withdrawQuestion()
	if p.command != nil {
		p.command.ended()
	}
	if p.endedCancelled && s.deps.Client.ResendsStoppedPrompt {
		s.stopped = p
	}
	s.proc.ScheduleParking(time.Now(), s.deps.Config.ParkAfter)
	if !s.prompts.RunsOne() {
		s.update(s.show.FlushNotices()...)
	}
	if end.Empty {
		s.notify("The model gave an empty answer.")
	}
	read = s.deps.Conn.Lines()
	p.answer(acperr.Stop(end, s.prompts.GaveUp()))
	// ACP forbids updates of a cancelled turn after its response (prompt turn). The next turn reports what this one used.
	if end.ByDroid && !end.Cancelled {
		now := time.Now()
		s.usage.turnEnded(now)
		s.commands.TurnEnded(now)
	}
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
