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

// begin notes that this session is to be held from now on, and lets go of the one
// before. It reports false when it is the same one.
func (h *holding) begin(id string) bool {
	if h.id == id {
		return false
	}
	h.letGo()
	h.id = id
	return true
}

// held notes that the session is held until release is called. If it is no longer to
// be held, held calls release at once.
func (h *holding) held(id string, release func()) {
	if h.id != id || h.release != nil {
		release()
		return
	}
	h.release = release
}

// letGo releases the session that is held, if any.
func (h *holding) letGo() {
	if h.release != nil {
		h.release()
	}
	*h = holding{}
}

// openElsewhere is what the user is told of a session that another agent holds.
const openElsewhere = "This conversation is open in another window or program of yours, too. droid does not keep the two together: " +
	"each goes on without what is said in the other. Close one of them."

// holdStored notes in the store that droid has its session open, beside the owner.
// It is held while this session is open here, with a process or without.
func (s *Session) holdStored() {
	id := s.droidID
	if s.agent.cfg.Store == nil || s.ended || !s.holding.begin(id) {
		return
	}
	s.do(func(context.Context) {
		s.tellUntold()
		if s.agent.cfg.Store.Held(id) {
			s.post(func() { s.tell(show.Notice(openElsewhere)) })
		}
		release, err := s.agent.cfg.Store.Hold(id)
		if err != nil {
			s.log.Warn("other agents do not see that this session is open", zap.Error(err))
			return
		}
		if !s.post(func() { s.holding.held(id, release) }) {
			release()
		}
	})
}
