package adapter

import (
	"context"

	"go.uber.org/zap"

	"droid-acp/internal/bounded"
	"droid-acp/internal/show"
)

// What the user is told of a session that another agent holds, and of one that another agent
// has opened since.
const (
	openElsewhere   = "This conversation is open in another window or program of yours, too." + apart
	openedElsewhere = "This conversation was opened in another window or program of yours, too." + apart
	apart           = " droid does not keep the two together: each goes on without what is said in the other. Close one of them."
)

// lockStored notes in the store that droid has its session open, beside the owner, so that
// other agents do not delete it. It is locked while this session is open here, with a process
// or without.
func (s *Session) lockStored() {
	id := s.droidID
	if s.ended || s.lock.Is(id) {
		return
	}
	s.unlock(s.lock.Begin(id))
	s.Do(func(ctx context.Context) {
		s.tellUntold(ctx)
		if held, _ := s.agent.opener.IsOpen(ctx, id); held {
			s.Post(func() { s.tell(show.Notice(openElsewhere)) })
		}
		release, err := s.agent.opener.MarkOpen(ctx, id)
		if err != nil {
			if ctx.Err() == nil { // else the session is over
				s.log.Warn("other agents do not see that this session is open", zap.Error(err))
			}
			return
		}
		marked, _ := s.agent.opener.Marked(ctx, id) // else the user is told once too often
		if !s.Post(func() { s.unlock(s.lock.Held(id, release, marked)) }) {
			s.agent.calls.AtEnd("release", bounded.ReleaseTime, release)
		}
	})
}

// lookForOthers tells the user, beside a prompt that begins, when another agent has opened the session
// since the last look. That agent's user was told at once.
func lookForOthers(s *Session) {
	id := s.droidID
	s.Do(func(ctx context.Context) {
		if marked, err := s.agent.opener.Marked(ctx, id); err == nil {
			s.Post(func() {
				if s.lock.Joined(id, marked) {
					s.tell(show.Notice(openedElsewhere))
				}
			})
		}
	})
}

// unlock releases a lock beside the owner.
func (s *Session) unlock(release func()) {
	if release != nil {
		s.Do(func(context.Context) { s.agent.calls.AtEnd("release", bounded.ReleaseTime, release) })
	}
}
