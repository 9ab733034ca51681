package adapter

import "droid-acp/internal/show"

// replayOn goes on with the history of a load while there is room in the outbox: it is sent as
// fast as the editor reads, so that a long one does not fill the outbox. When there is no
// room, it returns a channel that is closed when there is again. No prompt runs meanwhile.
func (s *Session) replayOn() (room <-chan struct{}) {
	if !s.load.Shows() {
		return nil
	}
	r := s.load.Open()
	for {
		if r.call.Context.Err() != nil {
			s.cancelLoad(r)
			return nil
		}
		if room := s.out.Full(); room != nil {
			return room
		}
		ev := s.load.Next()
		if ev == nil {
			break
		}
		s.tell(s.show.History(s.moment(), ev)...)
	}
	s.proc.norm.Reserve(s.show.ToolIDs()...)
	title, older := s.load.Title()
	if older {
		s.tell(show.Thought("The session has older messages that droid did not return."))
	}
	s.out.Forget() // the title belongs to the history, whatever was told before
	s.tellTitle(title)
	s.reloadEnded(r, nil)
	return nil
}
