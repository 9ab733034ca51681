package adapter

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/adapter/internal/prompt"
	"droid-acp/internal/adapter/opening"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// slashCommand is a command of this agent: "/name args" as a prompt, which droid
// does not see. Each has a file of its own, slash_NAME.go, and a row below.
type slashCommand struct {
	name        string
	description string
	hint        string // of the arguments; "" when it takes none
	form        string // what the arguments are, as a regular expression, if there are any
	run         func(r *commandRun, args string)
	option      string // that it changes, "" for none
}

// anything is the form of arguments that are a text, or that the command checks.
const anything = `(?s).*`

// slashCommands is the table of all commands of this agent, as the editor lists
// them. A custom command of the user with one of these names wins.
func slashCommands() []slashCommand {
	return []slashCommand{
		{"status", "Show versions, ids and paths, for bug reports", "", "", statusCommand, ""},
		{"help", "Show these commands", "", "", helpCommand, ""},
		{"login", "Show how to log in to Factory", "", "", loginCommand, ""},
		{"rename", "Give the session a title", "title", anything, renameCommand, ""},
		{"fork", "Copy the session as it is now, or as it was before it was compacted or rewound", "[before | ID]", `\S+`, forkCommand, ""},
		{"rewind", "Go back to before one of your prompts, with files or without", "[N [files]]", `\d+(\s+files)?`, rewindCommand, ""},
		{"model", "Show or choose the model", "model id", anything, optionCommand, options.Model},
		{"mode", "Show or choose the mode", "mode", anything, optionCommand, options.Mode},
		{"effort", "Show or choose the reasoning effort", "effort", anything, optionCommand, options.Effort},
		{"spec-model", "Show or choose the model that plans in spec mode", "model id, or \"same\"", anything, optionCommand, options.SpecModel},
		{"follow-up", "Show or choose what becomes of a prompt that is sent while another one runs", "queue or steer", anything, optionCommand, options.FollowUp},
		{"compact", "Replace the conversation by a summary of it", "what the summary must keep", anything, compactCommand, ""},
		{"context", "Show what fills the context window", "", "", contextCommand, ""},
		{"usage", "Show the tokens used", "", "", usageCommand, ""},
		{"mcp", "Show MCP servers and tools, or log in, log out, enable, disable or reconnect one", "login, logout, enable, disable or reconnect, and the SERVER", `(login|logout|enable|disable|reconnect)\s.+`, mcpCommand, ""},
		{"skills", "Show droid's skills, or switch one on or off", "enable or disable, and the SKILL", `(enable|disable)\s.+`, skillsCommand, ""},
		{"background", "Show the commands that droid runs in the background, or stop one", "stop NUMBER", `stop\s+\d+`, backgroundCommand, ""},
		{"sessions", "List the latest sessions", "", "", sessionsCommand, ""},
		{"permissions", "Show what is allowed, asked about and blocked for good, take a permission back, or see what lets a command run", "why COMMAND, or forget ENTRY", `(?s)(why|forget)\s.+`, permissionsCommand, ""},
		{"export", "Write the conversation to one HTML file", "file; \"with-directory\" before it names the session's directory in it", anything, exportCommand, ""},
		{"trust", "Show what this project brings to run, let it run, or take that back", "yes or no", `(?i)yes|no`, trustCommand, ""},
		{commandShell, "Run a shell command yourself, as !COMMAND does; droid is told with your next prompt", "command", anything, shellCommand, ""},
	}
}

// refusal is what is said of arguments that the command does not understand, "" of others.
func (c slashCommand) refusal(args string) string {
	if args == "" || regexp.MustCompile("^(?:"+c.form+")$").MatchString(args) {
		return ""
	}
	takes := " nothing"
	if c.hint != "" {
		takes = ": " + c.hint
	}
	return fmt.Sprintf("`/%s` does not understand “%.80s”. It takes%s.", c.name, args, takes)
}

// cutWord parts the first word of the arguments from the others.
func cutWord(args string) (word, others string) {
	at := strings.IndexFunc(args, unicode.IsSpace)
	if at < 0 {
		return args, ""
	}
	return args[:at], strings.TrimSpace(args[at:])
}

// ownCommands are the commands that this agent offers: all but the shell, unless
// the configuration allows it.
func (a *Agent) ownCommands() []slashCommand {
	own := slashCommands()
	if !a.cfg.Shell {
		own = slices.DeleteFunc(own, func(c slashCommand) bool { return c.name == commandShell })
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
	if bang, is := strings.CutPrefix(strings.TrimSpace(text), "!"); is && s.agent.cfg.Shell && strings.TrimSpace(bang) != "" {
		name, args = commandShell, strings.TrimSpace(bang)
	} else if !ok || s.commands.Has(name) {
		return nil
	}
	for _, own := range s.agent.ownCommands() {
		if own.name == name {
			return &commandRun{s: s, slashCommand: own, args: args}
		}
	}
	if terminal, is := terminalCommand(name, args); is {
		return &commandRun{s: s, slashCommand: terminal, args: args}
	}
	return nil
}

// allCommands are this agent's commands, the custom commands and the skills.
func (s *Session) allCommands() []protocol.AvailableCommand {
	var all []protocol.AvailableCommand
	for _, own := range s.agent.ownCommands() {
		if s.commands.Has(own.name) {
			continue
		}
		c := protocol.AvailableCommand{Name: protocol.Line(own.name), Description: protocol.Line(own.description)}
		if own.hint != "" {
			c.Input = &protocol.CommandInput{Hint: protocol.Line(own.hint)}
		}
		all = append(all, c)
	}
	return append(all, s.commands.Offered()...)
}

// commandRun is a prompt that one of this agent's commands answers. Its methods are
// all that the command needs for that; they are called with the session's lock.
// A command ends with reply, fail or done; when the user cancelled the
// prompt before, these do nothing. Only this file knows the prompt behind it.
type commandRun struct {
	s *Session
	slashCommand
	args string

	// From begin on.
	prompt *userPrompt
	named  int                // how often the user had named the thread
	work   context.Context    // of what the command waits for; ends with the prompt
	giveUp context.CancelFunc // ends work
	kept   bool               // see keep

	// What the command is at, and the end of the prompt ends or tells, see ended.
	stop     context.CancelFunc // of a shell command that runs
	compacts *droid.Client      // the droid that was asked to compact
	untold   string             // of the session in which the thread goes on already, "" when it is told
}

// begin answers a prompt that is a command. When the user cancels it, the prompt
// ends at once (but see stop and keep): nobody waits any longer for the calls that the
// command makes, so that the next prompt need not, and their outcome is ignored.
func (r *commandRun) begin(p *userPrompt) {
	r.prompt, r.named = p, r.s.name.Given()
	r.work, r.giveUp = context.WithCancel(r.s.Context)
	if refusal := r.refusal(r.args); refusal != "" {
		r.reply(refusal)
		return
	}
	r.s.mu.Go(func() { r.run(r, r.args) })
}

// over reports whether the prompt has ended, and another one may run.
func (r *commandRun) over() bool { return !r.s.prompts.Runs(r.prompt.id) }

// cancelled reports whether the prompt has ended because the user cancelled it.
func (r *commandRun) cancelled() bool { return r.prompt.cancelled }

// reply ends the command with what it has to say.
func (r *commandRun) reply(text string) {
	if r.over() {
		return
	}
	r.s.update(r.s.show.Text(uuid.NewString(), visible.Text(text), false)...)
	r.done()
}

// shown are the sums of what the project brings that the user had been shown when they sent the command.
func (r *commandRun) shown() []string {
	if r.s.shown.to >= r.prompt.id {
		return nil
	}
	return r.s.shown.sums
}

// fail ends a command that did not do what it was to do, and says why. The prompt
// was answered, so its stop reason is an ordinary one. Where droid has died before anything was to be done, it ends as
// all do that a dead droid had: the death itself is heard in the same moment, or later.
func (r *commandRun) fail(what string, why error) {
	if exit, gone := errors.AsType[*droid.ExitError](why); gone && !r.kept && !r.over() {
		r.s.prompts.Fail(r.prompt.id, acperr.Died{Exit: exit})
		return
	}
	r.reply(what + ": " + strings.TrimSuffix(plainly(why).Error(), ".") + ".")
}

// done ends a command that has said all there is to say.
func (r *commandRun) done() {
	r.s.prompts.Complete(r.prompt.id)
}

// agree reports whether the user has said yes to a question, or there is none. Otherwise the command has ended.
func (r *commandRun) agree(q *render.AgentPrompt, not, agreed string) bool {
	switch {
	case q == nil:
		return true
	case !r.prompt.asks(r.work, q, not):
		return false
	case !q.Yes():
		r.s.update(q.End(not)...)
		r.reply("The conversation stays as it is.")
		return false
	}
	r.s.update(q.End(agreed)...)
	return !r.over()
}

// keep has a cancel not end the command: what it asks droid for cannot be taken back, so it ends when that is done.
func (r *commandRun) keep() {
	r.kept = true
	r.s.prompts.Keep(r.prompt.id)
}

// replyFailed ends a command that changes something and did not, and with why, if it is not nil, the prompts that were sent until
// then: they were meant for what it was to do.
func (r *commandRun) replyFailed(text string, why error) {
	failing := r.s.prompts.Failing(r.prompt.id)
	r.reply(text)
	if failing != nil {
		r.s.mu.Yield() // to what was sent until now
		r.s.prompts.FinishChange(failing, why)
	}
}

// ended is called when the prompt has ended, even if it never ran.
func (r *commandRun) ended() {
	if r.giveUp != nil {
		r.giveUp()
	}
	if r.stop != nil {
		r.stop()
	}
	if r.compacts != nil {
		r.endCompaction(r.compacts)
	}
	if r.untold != "" {
		r.tellLate(r.untold)
	}
}

// unlocked runs f without the session's lock. f's context ends with the prompt, and after opening.Time.
func (r *commandRun) unlocked(f func(context.Context) error) error {
	return r.unlockedFor(opening.Time, opening.ErrTime, f)
}

// unlockedFor is unlocked with another limit, whose error is late.
func (r *commandRun) unlockedFor(limit time.Duration, late error, f func(context.Context) error) (err error) {
	r.s.unlocked(r.s.Context, func(context.Context) {
		ctx, cancel := context.WithTimeoutCause(r.work, limit, late)
		defer cancel()
		err = opening.OutOfTime(ctx, f(ctx))
	})
	return err
}

// droid returns the session's process, which is started if need be. If that fails, the prompt ends with the error, and
// nil is returned, as it is when the prompt has ended.
func (r *commandRun) droid() *droid.Client {
	err := r.s.waitFor(r.work, "/"+r.name, needCalls)
	if err == nil {
		err = r.s.renewStale(r.work)
	}
	client := (*droid.Client)(nil)
	if err == nil {
		client, _, err = r.s.awaitDroid(r.work, 1)
	}
	switch {
	case r.over(): // it was cancelled meanwhile
		return nil
	case err != nil:
		r.s.prompts.Fail(r.prompt.id, err)
		return nil
	}
	return client
}

// ask has f ask the session's process without the lock, and ends the command with its text, or with failed and why.
func (r *commandRun) ask(failed string, f func(ctx context.Context, client *droid.Client) (string, error)) {
	client := r.droid()
	if client == nil {
		return
	}
	var text string
	err := r.unlocked(func(ctx context.Context) (err error) {
		text, err = f(ctx, client)
		return err
	})
	if err != nil {
		r.fail(failed, err)
		return
	}
	r.reply(text)
}

// looks has f look, without the lock, whether droid can do something. A cancel ends that. Where f fails, the command ends with failed
// and why, and false is returned, as it is when the prompt has ended.
func (r *commandRun) looks(failed string, f func(context.Context) error) bool {
	err := r.unlocked(f)
	switch {
	case r.over():
		return false
	case err != nil:
		r.fail(failed, err)
		return false
	}
	return true
}

// do has f have droid do something, which a cancel does not end: what becomes of it is told. The command ends with f's text, or with
// failed and why. Where droid has ended over it, or is late, nobody knows: sought is what was to become so.
func (r *commandRun) do(failed, sought string, f func(context.Context) (string, error)) {
	r.keep()
	var text string
	err := r.unlocked(func(ctx context.Context) (err error) {
		text, err = f(ctx)
		return err
	})
	switch {
	case err == nil:
		r.reply(text)
	case errors.As(err, new(*stream.RPCError)):
		r.fail(failed, err)
	default:
		again := ". Send " + markdown.Code(visible.Line("/"+r.name+" "+r.args)) + " once more to be sure"
		r.fail("Whether "+sought+" is not known", errors.New(strings.TrimSuffix(plainly(err).Error(), ".")+again))
	}
}

// plainly is an error without the method of droid's protocol that failed, where droid refused it or has ended. What droid
// says of a file comes with what to do.
func plainly(err error) error {
	if exit, gone := errors.AsType[*droid.ExitError](err); gone {
		return errors.New(diagnosis.Ended(exit))
	}
	if refused, ok := errors.AsType[*stream.RPCError](err); ok {
		return errors.New(diagnosis.Refusal(refused.Message))
	}
	return err
}

// history returns the whole conversation. Where droid does not tell it, the command ends with failed and why, and
// nil is returned, as it is when the prompt has ended.
func (r *commandRun) history(failed string) *stream.SessionInfo {
	info, err := r.s.loadWhole(r.work)
	switch {
	case r.over():
		return nil
	case err != nil:
		r.fail(failed, errors.New(acperr.Text(err)))
		return nil
	}
	return info
}
