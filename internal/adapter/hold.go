package adapter

import (
	"context"

	"go.uber.org/zap"
)

// holding is how this session keeps other agents from deleting what droid has open.
type holding struct {
	id      string // of droid's session, "" for none
	release func() // nil until it is held
}

// holdStored notes in the store that droid has its session open, beside the owner.
// It is held while this session is open here, with a process or without.
func (s *Session) holdStored() {
	if s.agent.cfg.Store == nil || s.ended || s.holding.id == s.droidID {
		return
	}
	id := s.droidID
	s.letGo()
	s.holding.id = id
	s.do(func(context.Context) {
		release, err := s.agent.cfg.Store.Hold(id)
		if err != nil {
			s.log.Warn("other agents do not see that this session is open", zap.Error(err))
			return
		}
		if !s.post(func() {
			if s.holding.id != id || s.ended {
				release() // it went on to another one
				return
			}
			s.holding.release = release
		}) {
			release()
		}
	})
}

func (s *Session) letGo() {
	if s.holding.release != nil {
		s.holding.release()
	}
	s.holding = holding{}
}
