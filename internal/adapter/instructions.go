package adapter

import (
	"droid-acp/internal/instructions"
)

// useInstructions makes what is wanted the session's instructions. If the process has others,
// it is ended; the next process loads the session.
func (s *Session) useInstructions(w instructions.Wanted) {
	before := s.instructed.Load()
	now := w.Following(*before).Instructions
	if now.Equal(*before) {
		return
	}
	s.instructed.Store(&now)
	if s.proc.Client() != nil {
		s.leave()
	}
}

// rootsOf are the additional directories of a session that is open here, nil for others.
func (a *Agent) rootsOf(id string) []string {
	if s, open := a.sessions.Find(id); open {
		return s.instructed.Load().Roots
	}
	return nil
}
