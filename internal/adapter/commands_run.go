package adapter

import (
	"context"
	"errors"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/visible"
)

// commandRun is a prompt that one of this agent's commands answers, and all that
// the command has to answer it with. Its methods are called in the session's owner.
// A command ends with reply, fail, refuse or done; when the user cancelled the
// prompt before, these do nothing. Only this file knows the prompt behind it.
type commandRun struct {
	s    *Session
	name string
	run  func(r *commandRun, args string)
	args string

	// From runCommand on.
	prompt *userPrompt
	work   context.Context // of what the command asks droid for; ends with the prompt
	stop   func()          // ends the shell command that this is; nil for all others
	atEnd  []func()        // called in this order when the prompt has ended
}

// runCommand answers a prompt that is a command. It is cancelled at once, like a
// prompt that waits for droid. What it then waits for is given up, so that the next
// prompt does not wait for it; what droid still does changes nothing here.
func (s *Session) runCommand(p *userPrompt) {
	r := p.command
	r.prompt = p
	var giveUp func()
	r.work, giveUp = context.WithCancel(s.ctx)
	r.whenEnded(giveUp)
	r.run(r, r.args)
}

// over reports whether the prompt has ended, and another one may run.
func (r *commandRun) over() bool { return !r.s.prompts.runs(r.prompt) }

// cancelled reports whether the prompt has ended because the user cancelled it.
func (r *commandRun) cancelled() bool { return r.prompt.cancelled }

// reply ends the command with what it has to say.
func (r *commandRun) reply(text string) {
	if r.over() {
		return
	}
	r.s.sendText(uuid.NewString(), visible.Text(text), false)
	r.done()
}

// fail ends a command that did not do what it was to do, and says why. The prompt
// was answered, so its stop reason is an ordinary one.
func (r *commandRun) fail(what string, why error) {
	r.reply(what + ": " + strings.TrimSuffix(why.Error(), ".") + ".")
}

// refuse ends the prompt with an error: the command did not come to run.
func (r *commandRun) refuse(err *acp.RequestError) {
	if !r.over() {
		r.s.failPrompt(r.prompt, err)
	}
}

// done ends a command that has said all there is to say.
func (r *commandRun) done() {
	r.s.carryOut(r.s.prompts.machine.Complete(r.prompt.id))
}

// stopWith has a cancel of the shell command call stop; the prompt ends when the
// command says so.
func (r *commandRun) stopWith(stop func()) {
	r.stop = stop
	r.whenEnded(stop)
}

// whenEnded has f called when the prompt has ended, after what runs beside the owner
// for it was given up.
func (r *commandRun) whenEnded(f func()) { r.atEnd = append(r.atEnd, f) }

// ended follows the end of the prompt, also of one that never ran.
func (r *commandRun) ended() {
	for _, f := range r.atEnd {
		f()
	}
}

// beside calls f beside the owner and then, in the owner, then with its error. The
// context of f ends with the prompt, and after limit with the error late.
func (r *commandRun) beside(limit time.Duration, late error, f func(context.Context) error, then func(error)) {
	work := r.work
	r.s.do(func(context.Context) {
		ctx, cancel := context.WithTimeoutCause(work, limit, late)
		defer cancel()
		err := outOfTime(ctx, f(ctx))
		r.s.post(func() { then(err) })
	})
}

// droid calls f with the session's process, which is started if need be. Where that
// fails, the prompt does.
func (r *commandRun) droid(f func(client *droid.Client)) {
	r.s.withDroid(1, func(_ *stream.SessionInfo, err *acp.RequestError) {
		switch {
		case r.over():
		case err != nil:
			r.refuse(err)
		default:
			f(r.s.proc.client())
		}
	})
}

// ask calls f with the session's process beside the owner, and ends the command
// with its text, or with failed and why.
func (r *commandRun) ask(failed string, f func(ctx context.Context, client *droid.Client) (string, error)) {
	r.droid(func(client *droid.Client) {
		var text string
		r.beside(openTime, errOpenTime, func(ctx context.Context) (err error) {
			text, err = f(ctx, client)
			return err
		}, func(err error) {
			if err != nil {
				r.fail(failed, err)
				return
			}
			r.reply(text)
		})
	})
}

// history calls f with the whole conversation. Where droid does not tell it, the
// command ends with failed and why.
func (r *commandRun) history(failed string, f func(info *stream.SessionInfo)) {
	r.s.loadWhole(func(info *stream.SessionInfo, err *acp.RequestError) {
		switch {
		case r.over():
		case err != nil:
			r.fail(failed, errors.New(errorText(err)))
		default:
			f(info)
		}
	})
}
