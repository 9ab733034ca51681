package session

import (
	"context"
	"errors"
	"time"

	"droid-acp/internal/droid/store"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/memory"
)

// loop wakes a session for events of droid, for room in the outbox, and at a time.
type loop struct {
	wake    chan struct{} // holds a token when there may be an event to take
	timer   *time.Timer
	timerAt time.Time       // when the timer does, zero for never
	reads   bool            // droid is read
	room    <-chan struct{} // closed when there is room in the outbox, nil where it is not full or does not matter
}

func newLoop() loop {
	l := loop{wake: make(chan struct{}, 1), timer: time.NewTimer(0)}
	l.timer.Stop()
	return l
}

// Run is the session's loop. It ends when the session is stopped or the agent ends, with droid gone and every prompt answered.
func (s *Session) Run() {
	defer s.loop.timer.Stop()
	var room <-chan struct{}
	step := func(f func()) {
		s.mu.Lock()
		s.mu.Guard(f)
		room = s.loop.room // where it changes after that there is a token
		s.mu.Unlock()
	}
	for {
		select {
		case <-s.loop.wake:
			step(s.takeEvent)
		case <-room:
			step(func() {
				s.loop.room = nil
				s.proc.RestartSilence(time.Now()) // droid was not read until now, so it was not silent
				s.takeEvent()
			})
		case <-s.loop.timer.C:
			step(func() {
				s.loop.timerAt = time.Time{}
				if due := s.nextTick(); !due.IsZero() && time.Until(due) <= 0 {
					s.tick()
				}
			})
		case <-s.Context.Done():
			s.mu.Lock()
			s.mu.Guard(s.end)
			s.mu.Guard(s.afterEnd)
			s.mu.End(errEnded)
			s.mu.Close()
			return
		}
	}
}

// takeEvent takes one of droid's events, if there is one and it may be taken.
func (s *Session) takeEvent() {
	events, _ := s.nextEvent()
	select {
	case ev, open := <-events:
		s.wakeLoop() // there may be more
		s.handleEvent(ev, open)
	default:
	}
}

func (s *Session) wakeLoop() {
	select {
	case s.loop.wake <- struct{}{}:
	default:
	}
}

// advance starts the next prompt, if one may start, and reports whether anything changed. It is called when the session's lock is released
// and no waiter may proceed.
func (s *Session) advance() bool {
	if s.prompts.StartNext() {
		return true
	}
	s.reportActivity()
	s.updateRow()
	s.listen()
	return false
}

// listen sets what the loop is woken by.
func (s *Session) listen() {
	events, room := s.nextEvent()
	reads := events != nil
	if reads && !s.loop.reads || room != s.loop.room {
		s.wakeLoop()
	}
	s.loop.reads, s.loop.room = reads, room
	// What is due moves on with each event, so the timer is left as it is where it rings too early only: it is set again then.
	if due := s.nextTick(); !due.IsZero() && (s.loop.timerAt.IsZero() || due.Before(s.loop.timerAt)) {
		s.loop.timerAt = due
		s.loop.timer.Reset(time.Until(due))
	}
}

// nextTick is when something is due, zero for never.
func (s *Session) nextTick() (next time.Time) {
	consider := func(at time.Time, ok bool) {
		if ok && at.IsZero() {
			at = time.Unix(0, 0) // at once, not never
		}
		if ok && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	consider(s.proc.Due())
	consider(s.show.Due())
	consider(s.prompts.Due())
	consider(s.silenceDue())
	consider(s.servers.Due())
	consider(s.usage.dueAt())
	consider(s.commands.Due())
	consider(s.activity.again, !s.activity.again.IsZero())
	return next
}

func (s *Session) tick() {
	now := time.Now()
	s.apply(s.proc.Tick(now))
	s.lookAtSubagents(now)
	s.update(s.show.Tick(s.moment())...)
	s.prompts.Tick(now)
	if at, ok := s.silenceDue(); ok && !now.Before(at) {
		s.update(s.show.Text(s.proc.SilenceText(s.prompts.Sending()))...)
	}
	s.update(render.Notices(s.servers.Tick(now, s.prompts.RunsOne()))...)
	if at, ok := s.usage.dueAt(); ok && !now.Before(at) {
		s.updateUsage()
	}
	if at, ok := s.commands.Due(); ok && !now.Before(at) {
		s.commands.NotDue()
		s.mu.Go(func() {
			s.refreshCommands(s.Context, s.prompts.Idle)
			s.unlocked(s.Context, func(context.Context) { memory.Release() }) // what the turn has left
		})
	}
	s.park(now)
}

// end finishes the session: every prompt is answered, droid is gone.
func (s *Session) end() {
	s.ended = true
	s.readNoMore()
	s.prompts.Close(time.Now())
	s.questions.End()
	s.servers.EndLogins()
	s.fileCalls.End()
	s.loseLoads(s.EndError())
	s.endDroid(atEnd, "its session ends")
	if norm := s.proc.Normalizer(); norm != nil {
		s.apply(norm.EndSubagents(time.Now()))
	}
	s.mu.End(errEnded)
	s.mu.WaitIdle()
	s.prompts.Finish()
	s.mu.WaitIdle()
	for _, lock := range []*store.Lock{&s.storeLock, &s.loading.Lock} {
		if release := lock.Begin(""); release != nil {
			s.deps.AtEnd("release", files.ReleaseTime, release)
		}
	}
}

// errEnded ends every wait of a session that has ended.
var errEnded = errors.New("the session has ended")

// afterEnd makes sure, in case end panicked, that every prompt is answered and droid
// is gone.
func (s *Session) afterEnd() {
	s.prompts.Finish()
	if client := s.proc.Client(); client != nil {
		<-client.Exited()
	}
	s.log.Info("session ended")
}
