package adapter

import (
	"context"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/problem"
)

// droidGone ends what the process was doing.
func (s *Session) droidGone() {
	client := s.proc.client()
	err := client.ExitError()
	s.log.Warn("droid has ended", zap.Error(err))
	s.proc.died(err)
	s.servers.ProcessGone()
	s.fileCalls.End()
	s.prompts.machine.Gone(problem.Died{Exit: err})
	defer func() { s.carryOut(s.prompts.machine.Buried(problem.Died{Exit: err})) }() // also after a panic: prompts wait for it
	s.readNoMore()
	s.apply(s.proc.norm.Exited(time.Now()))
	s.dialog.withdrawAny()
}

// doom kills the process although prompts may wait: they wait until it is gone.
func (s *Session) doom(why string) {
	s.proc.kill(why)
	s.awaitEnd()
}

// awaitEnd has what needs a droid wait until the process is gone, which takes as long as
// what it started: then another one serves it.
func (s *Session) awaitEnd() {
	s.proc.expectEnd()
	s.holdPrompts()
}

// parkRetry is when parking is tried again while droid has a process running in
// the background, or the user may be logging in to an MCP server.
const parkRetry = time.Minute

// rest notes that the session became idle: it may be parked after a while.
func (s *Session) rest() {
	if s.agent.cfg.ParkAfter > 0 {
		s.proc.rest(time.Now().Add(s.agent.cfg.ParkAfter))
	}
}

// park ends the process of a session that rests; the next prompt starts one
// again. A droid that has a process running in the background is kept.
func (s *Session) park(now time.Time) {
	client := s.proc.client()
	switch {
	case !s.proc.parkDue(now):
	case client == nil || s.line.Wanted(needCalls) || !s.prompts.machine.Idle() || s.dialog.isOpen():
		// It rests no more; the end of the prompt or load sets a new time.
	case client.HasChildren() || s.servers.LogsIn(now):
		s.proc.rest(now.Add(parkRetry))
	default:
		s.log.Info("session parked")
		s.leave()
	}
}

// leave ends the process politely, beside the owner.
func (s *Session) leave() {
	client := s.proc.letGo()
	s.servers.ProcessGone()
	s.Do(func(context.Context) {
		closeDroid(s.polite, client)
		s.Post(func() { s.proc.left(client) })
	})
}

// closeDroid ends a process whose events nobody reads any more: politely, and by a
// kill when ctx ends.
func closeDroid(ctx context.Context, client *droid.Client) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for range client.Events() {
		}
	}()
	_ = client.Close(ctx) // how it ended is of no interest
	<-drained
}

// endDroid ends the process politely when the session ends, and hears how its turn
// ends.
func (s *Session) endDroid() {
	closed := make(chan struct{})
	client := s.proc.client()
	s.Do(func(context.Context) {
		defer close(closed)
		defer client.Kill() // it is gone by then, unless Close panicked
		// Close bounds the time by itself and returns when the process is gone.
		if err := client.Close(s.polite); err != nil {
			s.log.Debug("droid ended", zap.Error(err))
		}
	})
	for ev := range client.Events() {
		s.apply(s.proc.norm.Push(time.Now(), ev))
	}
	<-closed
}
