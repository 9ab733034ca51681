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
			r.cancel()
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
	s.proc.Norm().Reserve(s.show.ToolIDs()...)
	for _, words := range s.load.Lacks() {
		s.tell(show.Thought(words))
	}
	s.tellTitle(s.load.Title())
	r.told()
	return nil
}
