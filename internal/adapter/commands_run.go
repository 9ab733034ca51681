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
	"droid-acp/internal/problem"
	"droid-acp/internal/visible"
)

// commandRun is a prompt that one of this agent's commands answers. Its methods are
// all that the command needs for that; they are called in the session's owner.
// A command ends with reply, fail, refuse or done; when the user cancelled the
// prompt before, these do nothing. Only this file knows the prompt behind it.
type commandRun struct {
	s    *Session
	name string
	run  func(r *commandRun, args string)
	args string

	// From runCommand on.
	prompt *userPrompt
	work   context.Context // of the calls that the command makes; ends with the prompt
	stop   func()          // stops a shell command; nil for all other commands
	atEnd  []func()        // called in this order when the prompt has ended
}

// runCommand answers a prompt that is a command. When the user cancels it, the prompt
// ends at once (but see stopWith): nobody waits any longer for the calls that the
// command makes, so that the next prompt need not, and their outcome is ignored.
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
	r.s.tell(r.s.show.Text(uuid.NewString(), visible.Text(text), false)...)
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

// stopWith makes a cancel of a shell command call stop. The prompt then ends when the
// command calls done.
func (r *commandRun) stopWith(stop func()) {
	r.stop = stop
	r.whenEnded(stop)
}

// whenEnded has f called when the prompt has ended, after what runs beside the owner
// for it was given up.
func (r *commandRun) whenEnded(f func()) { r.atEnd = append(r.atEnd, f) }

// ended is called when the prompt has ended, even if it never ran.
func (r *commandRun) ended() {
	for _, f := range r.atEnd {
		f()
	}
}

// beside calls f beside the owner. When f has returned, the owner calls then with f's
// error. f's context ends with the prompt, and after limit with the error late.
func (r *commandRun) beside(limit time.Duration, late error, f func(context.Context) error, then func(error)) {
	work := r.work
	r.s.do(func(context.Context) {
		ctx, cancel := context.WithTimeoutCause(work, limit, late)
		defer cancel()
		err := outOfTime(ctx, f(ctx))
		r.s.post(func() { then(err) })
	})
}

// droid calls f with the session's process, which is started if need be. If that
// fails, the prompt ends with the error.
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
			r.fail(failed, errors.New(problem.Text(err)))
		default:
			f(info)
		}
	})
}
