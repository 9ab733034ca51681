package adapter

import (
	"context"

	"go.uber.org/zap"

	"droid-acp/internal/show"
)

// holding is what keeps other agents from deleting a session that droid has open.
type holding struct {
	id      string // of droid's session, "" for none
	release func() // nil until it is held
}

// begin notes that this session is to be held from now on. It returns what lets go of the
// one before, nil for none.
func (h *holding) begin(id string) (before func()) {
	before = h.release
	*h = holding{id: id}
	return before
}

// held notes that the session is held until release is called. It returns release if
// the session is no longer to be held.
func (h *holding) held(id string, release func()) (needless func()) {
	if h.id != id || h.release != nil {
		return release
	}
	h.release = release
	return nil
}

// openElsewhere is what the user is told of a session that another agent holds.
const openElsewhere = "This conversation is open in another window or program of yours, too. droid does not keep the two together: " +
	"each goes on without what is said in the other. Close one of them."

// holdStored notes in the store that droid has its session open, beside the owner.
// It is held while this session is open here, with a process or without.
func (s *Session) holdStored() {
	id := s.droidID
	if s.ended || s.holding.id == id {
		return
	}
	s.letGo(s.holding.begin(id))
	s.do(func(ctx context.Context) {
		s.tellUntold(ctx)
		if held, _ := s.agent.heldElsewhere(ctx, id); held {
			s.post(func() { s.tell(show.Notice(openElsewhere)) })
		}
		release, err := s.agent.hold(ctx, id)
		if err != nil {
			s.log.Warn("other agents do not see that this session is open", zap.Error(err))
			return
		}
		if !s.post(func() { s.letGo(s.holding.held(id, release)) }) {
			s.agent.atEnd("release", releaseTime, release)
		}
	})
}

// letGo ends holds beside the owner.
func (s *Session) letGo(release func()) {
	if release != nil {
		s.do(func(context.Context) { s.agent.atEnd("release", releaseTime, release) })
	}
}

// hold notes in the store that this agent has a session open.
func (a *Agent) hold(ctx context.Context, id string) (release func(), err error) {
	return bounded(ctx, a, "Store.Hold", "session "+id, func(string) (func(), error) { return a.cfg.Store.Hold(id) })
}
