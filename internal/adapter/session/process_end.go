package session

import (
	"context"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/process"
	"droid-acp/internal/droid"
)

// ending is how a session ends its droid.
type ending int

const (
	// replaced leaves the session without a droid. The process is asked to end, and is gone before another one loads the session. It has no
	// prompt; one that is being prepared gets another droid. A turn of droid's own ends.
	replaced ending = iota
	// killed stops droid at once. The session still processes its last output, and whatever needs a droid waits until the process is gone.
	killed
	// atEnd ends the session, too: droid is asked to end, and its events are read until it is gone.
	atEnd
)

// endDroid ends the session's droid, if it has one, and logs why. It is the only function of a session that does. A caller that can ask the
// user about commands in the background asks before; otherwise the user is notified here.
func (s *Session) endDroid(how ending, why string) {
	if how == replaced {
		s.drainEvents() // what it has said already is shown
	}
	client := s.proc.Client()
	if client == nil {
		return
	}
	if how != atEnd {
		s.log.Info("droid is ended", zap.String("why", why))
	}
	left := s.updateBackground()
	switch how {
	case replaced:
		client, graceful := s.proc.Replace(), s.proc.Graceful()
		s.mu.Go(func() {
			s.unlocked(s.Context, func(context.Context) { process.Close(graceful, client); endLeft(left) })
			s.proc.OldExited(client)
		})
		s.endWork()
	case killed:
		s.proc.Kill(why)
		s.async(func(context.Context) { endLeft(left) })
		s.markEnding()
	case atEnd:
		s.readUntilExit(client)
		s.async(func(context.Context) { endLeft(left) })
	}
}

// readUntilExit asks droid to end, and processes its events until it has.
func (s *Session) readUntilExit(client *droid.Client) {
	closed := make(chan struct{})
	s.async(func(context.Context) {
		defer close(closed)
		defer client.Kill() // it is gone by then, unless Close panicked
		// Close bounds the time by itself and returns when the process is gone.
		if err := client.Close(s.proc.Graceful()); err != nil {
			s.log.Debug("droid ended", zap.Error(err))
		}
	})
	for ev := range client.Events() {
		s.apply(s.proc.Normalizer().Handle(time.Now(), ev))
	}
	<-closed
}

// droidExited takes the end of a droid that the session had: its events have ended, and its process is gone. ProcessExited has the next droid
// get what this one had not accepted, endWork ends the turns that it had begun and their prompts, and OutputRead what is left. The next droid
// is started where a prompt, or another request, waits for one in awaitDroid.
func (s *Session) droidExited() {
	client := s.proc.Client()
	err := client.ExitError()
	s.log.Warn("droid has ended", zap.Error(err))
	if left := s.updateBackground(); len(left) > 0 {
		s.async(func(context.Context) { endLeft(left) })
	}
	s.proc.Exited(err)
	if err != nil && err.KilledFor == "" {
		s.reportFault(droid.LogText(err))
	}
	s.prompts.ProcessExited(client.LastAccepted(), acperr.Died{Exit: err})
	defer func() { s.prompts.OutputRead(acperr.Died{Exit: err}) }() // also after a panic: prompts wait for it
	s.endWork()
}

// endWork ends the turns and withdraws the questions of a droid that has exited or was replaced.
func (s *Session) endWork() {
	s.servers.ProcessExited()
	s.fileCalls.End()
	s.apply(s.proc.Normalizer().Exited(time.Now()))
	s.readNoMore() // what the prompts are answered by is not held back
	s.questions.DroidExited()
}

// markEnding makes everything that needs a droid wait until the process and what it started are gone. Then another one serves it.
func (s *Session) markEnding() {
	s.proc.MarkEnding()
	s.pausePrompts()
}

// parkRetry is when parking is tried again while droid has a process running in
// the background, or the user may be logging in to an MCP server.
const parkRetry = time.Minute

// park ends the process of a session that rests; the next prompt starts one
// again. A droid that works by itself, or has a process or a subagent running in the background, is kept.
func (s *Session) park(now time.Time) {
	client := s.proc.Client()
	switch {
	case !s.proc.ParkDue(now):
	case client == nil || !s.prompts.Idle() || s.questions.IsOpen():
		// It no longer rests; the end of the prompt or load sets a new time.
	case !s.droidRests():
		s.proc.ScheduleParking(now, parkRetry)
	default:
		s.endDroid(replaced, "the session rests")
	}
}

// droidRests reports whether nothing would be lost with the droid that runs.
func (s *Session) droidRests() bool {
	client := s.proc.Client()
	return client != nil && !s.proc.Working() && !client.HasChildren() && !s.proc.SubagentsWork() && !s.servers.LogsIn(time.Now())
}
