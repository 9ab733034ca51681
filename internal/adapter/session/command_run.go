package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/adapter/internal/prompt"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
	"droid-acp/internal/text/visible"
)

// Command is a slash command: "/name args" as a prompt, which this agent answers and droid does not see.
type Command struct {
	Name        string
	Description string
	Hint        string // of the arguments; "" if it takes none
	Form        string // what the arguments are, as a regular expression, if there are any
	// Run does what the command is for and returns the reply, "" for none. It has the session's lock. ctx ends with the prompt;
	// what is returned after that is dropped.
	Run  func(ctx context.Context, s *Session, args string) (reply string, err error)
	Kind turns.Kind // Here, Process, or Setting, which holds if there are arguments
	// TakesBack is the form of arguments with which the command takes something from droid, "" for none. If that fails, prompts that were sent
	// behind it do not go to droid. No custom command takes the place of such a one, since a project may bring that.
	TakesBack string
}

// hasForm reports whether arguments have a form of a command.
func hasForm(args, form string) bool {
	return regexp.MustCompile("^(?:" + form + ")$").MatchString(args)
}

// refusal returns the reply to arguments that the command does not understand, "" for others.
func (c Command) refusal(args string) string {
	if args == "" || hasForm(args, c.Form) {
		return ""
	}
	takes := " nothing"
	if c.Hint != "" {
		takes = ": " + c.Hint
	}
	return fmt.Sprintf("`/%s` does not understand “%.80s”. It takes%s.", c.Name, args, takes)
}

// ownCommands returns the commands that this agent offers: all but the shell, unless
// the configuration allows it.
func (d *Deps) ownCommands() []Command {
	own := slices.Clone(d.Commands)
	if !d.Config.Shell {
		own = slices.DeleteFunc(own, func(c Command) bool { return c.Name == ShellCommand })
	}
	return own
}

// commandOf returns the command that a prompt is, nil for all other prompts: text
// that only looks like a command is droid's.
func (s *Session) commandOf(p prompt.Prompt) *commandRun {
	text, ok := p.Text()
	if !ok {
		return nil
	}
	name, args, ok := commands.Split(text)
	custom := s.commands.Has(name)
	if bang, is := strings.CutPrefix(strings.TrimSpace(text), "!"); is && s.deps.Config.Shell && strings.TrimSpace(bang) != "" {
		name, args = ShellCommand, strings.TrimSpace(bang)
	} else if !ok {
		return nil
	}
	own := s.deps.ownCommands()
	i := slices.IndexFunc(own, func(c Command) bool { return c.Name == name })
	switch {
	case custom && (i < 0 || own[i].TakesBack == ""):
		return nil
	case i >= 0:
		return &commandRun{Command: own[i], s: s, args: args}
	}
	if terminal, is := s.deps.CommandFor(name, args); is {
		return &commandRun{Command: terminal, s: s, args: args}
	}
	return nil
}

// ListCommands returns this agent's commands, and the user's own with the skills. A command of the user replaces ours of that name, but for
// those that take something from droid.
func (s *Session) ListCommands() (ours, users []protocol.AvailableCommand) {
	users = s.commands.Offered()
	for _, own := range s.deps.ownCommands() {
		if own.TakesBack != "" {
			users = slices.DeleteFunc(users, func(c protocol.AvailableCommand) bool { return string(c.Name) == own.Name })
		} else if s.commands.Has(own.Name) {
			continue
		}
		c := protocol.AvailableCommand{Name: protocol.Line(own.Name), Description: protocol.Line(own.Description)}
		if own.Hint != "" {
			c.Input = &protocol.CommandInput{Hint: protocol.Line(own.Hint)}
		}
		ours = append(ours, c)
	}
	return ours, users
}

// allCommands are this agent's commands, the custom commands and the skills.
func (s *Session) allCommands() []protocol.AvailableCommand {
	ours, users := s.ListCommands()
	return append(ours, users...)
}

// commandRun is a prompt that a command answers.
type commandRun struct {
	Command
	s      *Session
	args   string
	prompt *userPrompt             // from begin on
	cancel context.CancelCauseFunc // ends the context of Run, from begin on
	atEnd  func()                  // see whenEnded
	failed error                   // ends the prompts behind it, see failBehind; nil if they may go
}

// The causes for which the context of a command ends.
var (
	errCommandCancelled = errors.New("the command was cancelled")
	errCommandEnded     = errors.New("the command has ended")
)

type commandKey struct{}

// commandFrom returns the command that an act is done for, nil if it is done for a request.
func commandFrom(ctx context.Context) *commandRun {
	r, _ := ctx.Value(commandKey{}).(*commandRun)
	return r
}

// begin answers the prompt. A cancel ends it at once (but see uncancellable and turns.Process): the command's calls are abandoned and their
// outcome is ignored, so that the next prompt need not wait for them.
func (r *commandRun) begin(p *userPrompt) {
	r.prompt = p
	ctx, cancel := context.WithCancelCause(context.WithValue(r.s.Context, commandKey{}, r))
	r.cancel = cancel
	r.s.mu.Go(func() {
		if refusal := r.refusal(r.args); refusal != "" {
			r.finish(ctx, "", message(refusal))
			return
		}
		reply, err := r.Run(ctx, r.s, r.args)
		r.finish(ctx, reply, err)
	})
}

// stop has a command of turns.Process stop its program. The prompt ends when Run returns.
func (r *commandRun) stop() { r.cancel(errCommandCancelled) }

// finish ends the prompt, unless it has ended. One for which there was no droid, or whose droid died before anything was to be done, ends as
// all do that a dead droid had. Any other error is the reply: the prompt was answered, so its stop reason is an ordinary one.
func (r *commandRun) finish(ctx context.Context, reply string, err error) {
	s, id := r.s, r.prompt.id
	if !s.prompts.Runs(id) {
		return
	}
	if why := whyNoDroid(err); why != nil {
		s.prompts.Fail(id, why)
		return
	}
	if exit, died := errors.AsType[*droid.ExitError](err); died {
		s.prompts.Fail(id, acperr.Died{Exit: exit})
		return
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return // the session ends, and the prompt with it
	}
	if err != nil {
		reply, r.failed = err.Error(), r.stopsPrompts(err)
		r.prompt.failed = acperr.CommandFailed(reply)
	}
	if reply != "" {
		s.update(s.show.Text(uuid.NewString(), visible.Text(reply), false)...)
	}
	s.prompts.Complete(id)
}

// stopsPrompts returns why the prompts behind a command that failed are not to go to droid, nil if they may.
func (r *commandRun) stopsPrompts(err error) error {
	notSet, is := errors.AsType[*NotSetError](err)
	switch {
	case r.args == "": // it only shows something
		return nil
	case is:
		return notSet.prompts
	case r.TakesBack != "" && (hasForm(r.args, r.TakesBack) || r.refusal(r.args) != ""): // what is not understood may have been that
		return acperr.NotTakenBack(visible.Line("/"+r.Name+" "+r.args), err)
	case r.Kind.IsSetting():
		return err
	}
	return nil
}

// failBehind ends the prompts that the editor sent behind a command that failed, before it could know that. read is the number of lines that
// were read before the response.
func (r *commandRun) failBehind(end turns.End, read int64) {
	if end.Err != nil {
		r.failed = r.stopsPrompts(end.Err)
	}
	if r.failed != nil {
		r.s.refused = refusedLines{read, r.failed}
		r.s.prompts.FailSince(end.ID, r.failed)
	}
}

// ended is called when the prompt has ended, even if it never ran.
func (r *commandRun) ended() {
	if r.cancel == nil {
		return
	}
	if r.prompt.endedCancelled {
		r.cancel(errCommandCancelled)
	}
	r.cancel(errCommandEnded)
	if r.atEnd != nil {
		r.atEnd()
	}
}

// What follows is for acts: exported methods of Session that do what a slash command, or a request of an editor or a program, is
// for. They have the session's lock, and ctx is the command's or the request's.

// whenEnded has f called with the lock if ctx ends before forget is called. Of a command that is before the response to its prompt.
func (s *Session) whenEnded(ctx context.Context, f func()) (forget func()) {
	if ctx.Err() != nil {
		f()
		return func() {}
	}
	if r := commandFrom(ctx); r != nil {
		r.atEnd = f
		return func() { r.atEnd = nil }
	}
	forgotten := false
	stop := context.AfterFunc(ctx, func() {
		s.mu.Post(func() {
			if !forgotten {
				f()
			}
		})
	})
	return func() { forgotten = true; stop() }
}

// wasCancelled reports whether the user cancelled the command whose context ctx is.
func wasCancelled(ctx context.Context) bool { return context.Cause(ctx) == errCommandCancelled }

// uncancellable protects an act from a cancel, because what it asks of droid cannot be undone: it ends when droid has answered. Later steps
// of the act use the returned context.
func (s *Session) uncancellable(ctx context.Context) context.Context {
	if r := commandFrom(ctx); r != nil {
		s.prompts.Keep(r.prompt.id)
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// message is an error whose text is the whole reply to the user.
type message string

func (m message) Error() string { return string(m) }

// errDeclined is the error if the user did not agree to a change of the conversation.
const errDeclined = message("The conversation stays as it is.")

// Agree returns nil if the user says yes to a question, or there is none. not and agreed end its entry.
func (s *Session) Agree(ctx context.Context, q *render.AgentPrompt, not, agreed string) error {
	r := commandFrom(ctx)
	switch {
	case q == nil:
		return context.Cause(ctx)
	case r == nil:
		return errDeclined
	}
	switch answered, _ := r.prompt.asks(ctx, q, not, 0); {
	case !answered:
		return context.Cause(ctx)
	case !q.Yes():
		s.update(q.End(not)...)
		return errDeclined
	}
	s.update(q.End(agreed)...)
	return context.Cause(ctx)
}

// callBounded runs f without the lock. f's context ends with ctx, and after launch.Time.
func (s *Session) callBounded(ctx context.Context, f func(context.Context) error) error {
	return s.callWithin(ctx, launch.Time, launch.ErrTime, f)
}

// callWithin is callBounded with another limit, whose error is late.
func (s *Session) callWithin(ctx context.Context, limit time.Duration, late error, f func(context.Context) error) (err error) {
	s.unlocked(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
		defer cancel()
		err = launch.OutOfTime(ctx, f(ctx))
	})
	return err
}

// readyDroid returns the session's process when the calls before are done. It is started if need be, and replaced if the project brings
// something else than it was started with. If that fails, the error is a noDroid.
func (s *Session) readyDroid(ctx context.Context) (client *droid.Client, err error) {
	who := "a request"
	if r := commandFrom(ctx); r != nil {
		who = "/" + r.Name
	}
	failure := s.waitFor(ctx, who, needCalls)
	if failure == nil {
		failure = s.renewStale(ctx)
	}
	if failure == nil {
		client, _, failure = s.awaitDroid(ctx, 1)
	}
	if failure != nil {
		return nil, &noDroid{failure}
	}
	return client, context.Cause(ctx)
}

// askDroid calls f with the session's process, without the lock.
func (s *Session) askDroid(ctx context.Context, f func(ctx context.Context, client *droid.Client) error) error {
	client, err := s.readyDroid(ctx)
	if err != nil {
		return err
	}
	return s.callBounded(ctx, func(ctx context.Context) error { return f(ctx, client) })
}

// changeDroid calls check, which finds out whether droid can do something, and then do, which makes droid do it and ignores a cancel. If
// droid exits during do or answers late, the outcome is not known: the error is an unknownOutcome.
func (s *Session) changeDroid(ctx context.Context, check, do func(ctx context.Context, client *droid.Client) error) error {
	client, err := s.readyDroid(ctx)
	if err == nil {
		err = s.callBounded(ctx, func(ctx context.Context) error { return check(ctx, client) })
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	err = s.callBounded(s.uncancellable(ctx), func(ctx context.Context) error { return do(ctx, client) })
	if err == nil || errors.As(err, new(*stream.RPCError)) {
		return err
	}
	return &UnknownOutcome{err}
}

// History returns the whole conversation.
func (s *Session) History(ctx context.Context) (*stream.SessionInfo, error) {
	info, err := s.loadWhole(ctx)
	return info, cmp.Or(context.Cause(ctx), Plain(err))
}

// failure is the error of a command that did not do what it was to do.
type failure struct {
	what string
	why  error
}

// Failed says what was not done, and why.
func Failed(what string, why error) error { return &failure{what, why} }

func (f *failure) Error() string { return f.what + ": " + sentence(f.why) }

func (f *failure) Unwrap() error { return f.why }

// sentence returns the text of an error with one full stop.
func sentence(err error) string { return strings.TrimSuffix(Plainly(err).Error(), ".") + "." }

// UnknownOutcome says why it is unknown whether droid did what it was asked.
type UnknownOutcome struct{ Why error }

func (e *UnknownOutcome) Error() string { return e.Why.Error() }

// Plainly returns an error without the method of droid's protocol that failed, where droid refused it or has ended. What droid
// says of a file comes with what to do.
func Plainly(err error) error {
	if exit, gone := errors.AsType[*droid.ExitError](err); gone {
		return errors.New(diagnosis.Ended(exit))
	}
	if refused, ok := errors.AsType[*stream.RPCError](err); ok {
		return errors.New(diagnosis.Refusal(refused.Message))
	}
	return err
}

// Plain returns a *jsonrpc.Error, which may be nil, as an error with its text for users alone.
func Plain(err *jsonrpc.Error) error {
	if err == nil {
		return nil
	}
	return errors.New(acperr.Text(err))
}
