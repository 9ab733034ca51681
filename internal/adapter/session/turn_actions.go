package session

import (
	"context"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
)

// interruptTime bounds the wait for droid's answer to an interrupt, which came within
// 0.14 s on a busy machine.
const interruptTime = 2 * time.Second

// act carries out one action of the turn machine. s.prompts (turns.Queue) reports to the machine what happens to prompts, and then calls
// act for each of its actions.
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
	case turns.Send:
		s.prompts.Get(a.ID).send(a.Request)
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

// send hands a prompt to droid.
func (p *userPrompt) send(request string) {
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
	if s.prompts.Runs(p.id) || len(p.notes) > 0 {
		p.addShellNotes()
	}
	if s.prompts.Runs(p.id) {
		s.proc.RestartSilence(time.Now()) // droid is waited for from now on
	}
	s.apply(s.proc.Normalizer().Begin(time.Now(), request, p.message.Text))
	prepared := s.prompts.Runs(p.id) // and not sent while droid works on another one, see Machine.SetSteering
	s.mu.Go(func() {
		client, message, err := s.proc.Client(), p.message, error(nil)
		if !prepared {
			switch ended, unknown := s.killIfChanged(s.Context); {
			case ended || s.proc.Client() != client:
				return // endWork ends the turn, and droidExited has the next droid get the prompt
			case unknown != nil:
				s.prompts.Rejected(time.Now(), p.id, acperr.NotLooked(s.cwd, unknown))
				return
			}
		}
		s.unlocked(s.Context, func(ctx context.Context) { err = client.AddUserMessage(ctx, message) })
		p.sent(request, err)
	})
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

// interrupt asks droid to stop.
func (s *Session) interrupt() {
	s.mu.Go(func() {
		defer func() { s.prompts.InterruptDone() }() // also after a panic: prompts wait for it
		s.apply(s.proc.Normalizer().Interrupted(time.Now()))
		client := s.proc.Client()
		if client == nil {
			return
		}
		if err := s.unlockedFor(s.Context, interruptTime, client.Interrupt); err != nil {
			s.log.Debug("interrupt", zap.Error(err))
		}
	})
}

// withdraw asks droid for a message that the user cancelled before droid began with it. A droid that gives none back
// ends it as cancelled when its turn comes.
func (s *Session) withdraw(request string) {
	if !s.proc.Supports(stream.WithdrawsMessages) {
		return
	}
	s.mu.Go(func() {
		client := s.proc.Client()
		if client == nil {
			return // droid has died, and the prompt ends with that
		}
		if err := s.unlockedFor(s.Context, interruptTime, func(ctx context.Context) error { return client.WithdrawMessage(ctx, request) }); err != nil {
			s.log.Debug("taking a message back", zap.Error(err))
			return
		}
		_ = s.syncEvents(s.Context) // that droid works on it comes before the answer
		s.prompts.Withdrawn(request)
	})
}

// endPrompt answers a prompt, once.
func (s *Session) endPrompt(end turns.End) {
	p := s.prompts.Remove(end.ID)
	defer p.respond(nil, acperr.Lost()) // where this panics
	p.cancelled = end.Cancelled
	p.cancelPreparation()
	p.withdrawQuestion()
	if p.command != nil {
		p.command.ended()
	}
	if p.cancelled && s.deps.Client.ResendsStoppedPrompt {
		s.prompts.KeepStopped(p)
	}
	s.proc.ScheduleParking(time.Now(), s.deps.Config.ParkAfter)
	if !s.prompts.RunsOne() {
		s.update(s.show.FlushNotices()...)
	}
	if end.Empty {
		s.notify("The model gave an empty answer.")
	}
	p.answer(acperr.Stop(end, s.prompts.GaveUp()))
	// ACP forbids updates of a cancelled turn after its response (prompt turn). The next turn reports what this one used.
	if end.ByDroid && !end.Cancelled {
		now := time.Now()
		s.usage.turnEnded(now)
		s.commands.TurnEnded(now)
	}
}
