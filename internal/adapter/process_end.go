package adapter

import (
	"context"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/problem"
)

// droidGone ends what the process was doing.
func (s *Session) droidGone() {
	client := s.proc.Client()
	err := client.ExitError()
	s.log.Warn("droid has ended", zap.Error(err))
	s.proc.Died(err)
	s.servers.ProcessGone()
	s.fileCalls.End()
	s.prompts.Gone(client.Took(), problem.Died{Exit: err})
	defer func() { s.prompts.Do(s.prompts.Buried(problem.Died{Exit: err})) }() // also after a panic: prompts wait for it
	s.readNoMore()
	s.apply(s.proc.Norm().Exited(time.Now()))
	s.dialog.DroidGone()
}

// doom kills the process although prompts may wait: they wait until it is gone.
func (s *Session) doom(why string) {
	tellBackground(s)
	s.proc.Kill(why)
	s.awaitEnd()
}

// awaitEnd has what needs a droid wait until the process is gone, which takes as long as
// what it started: then another one serves it.
func (s *Session) awaitEnd() {
	s.proc.Doom()
	s.holdPrompts()
}

// parkRetry is when parking is tried again while droid has a process running in
// the background, or the user may be logging in to an MCP server.
const parkRetry = time.Minute

// park ends the process of a session that rests; the next prompt starts one
// again. A droid that works by itself, or has a process running in the background, is kept.
func (s *Session) park(now time.Time) {
	client := s.proc.Client()
	switch {
	case !s.proc.ParkDue(now):
	case client == nil || s.line.Wanted(needCalls) || !s.prompts.Idle() || s.dialog.IsOpen():
		// It rests no more; the end of the prompt or load sets a new time.
	case s.proc.Working() || client.HasChildren() || s.servers.LogsIn(now):
		s.proc.Rest(now, parkRetry)
	default:
		s.log.Info("session parked")
		s.retireDroid()
	}
}

// tellBackground tells the user that a command in the background ends, before droid is ended: it ends with droid,
// and nothing else tells that. A command of this agent asks before, where somebody can be asked.
func tellBackground(s *Session) {
	if !s.proc.Background() {
		return
	}
	const text = "A command that droid ran in the background was ended, since droid's process had to end."
	if s.load.Open() != nil || !s.out.Known() {
		s.out.Keep(text) // what a load shows comes first
		return
	}
	tellNow(s, text)
}

// retireDroid ends the process politely, beside the owner.
func (s *Session) retireDroid() {
	tellBackground(s)
	end, ended := s.proc.Retire()
	s.servers.ProcessGone()
	s.Do(func(context.Context) {
		end()
		s.Post(ended)
	})
}

// endDroid ends the process politely when the session ends, and hears how its turn
// ends.
func (s *Session) endDroid() {
	closed := make(chan struct{})
	client := s.proc.Client()
	s.Do(func(context.Context) {
		defer close(closed)
		defer client.Kill() // it is gone by then, unless Close panicked
		// Close bounds the time by itself and returns when the process is gone.
		if err := client.Close(s.proc.Polite()); err != nil {
			s.log.Debug("droid ended", zap.Error(err))
		}
	})
	for ev := range client.Events() {
		s.apply(s.proc.Norm().Push(time.Now(), ev))
	}
	<-closed
}
