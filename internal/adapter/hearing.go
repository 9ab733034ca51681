package adapter

import (
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// nextEvent is where the owner reads droid's next event, nil while droid is not to
// be read. If what it waits for is room in the outbox, room is closed when there
// is some.
func (s *Session) nextEvent() (events <-chan stream.Event, room <-chan struct{}) {
	s.guard(func() { room = s.replayOn() })
	switch {
	case s.replaying != nil: // the history comes first
	case s.turn != nil && s.unanswered > 0:
		// The next prompt runs already and the response to the one before is not
		// out: an update of the next one would overtake it. The response wakes us.
	case s.reading.waiting(): // files are read for what droid said before; that they are wakes us
	case s.stopping():
		events = s.events // what it says is dropped, so it needs no room
	default:
		if room = s.agent.out.full(); room == nil {
			events = s.events
		}
	}
	s.paused = events == nil
	return events, room
}

// stopping reports whether droid works on a prompt that the editor has cancelled.
func (s *Session) stopping() bool {
	return s.turn != nil && s.turn.cancelled && s.turn.command == nil
}

// isVoid tells what a cancelled turn still says. The editor does not get it, so
// that droid can be read to the end of the turn also while the editor reads
// nothing, and what it gets is what was said before, without a gap. What it knows
// as begun still ends.
func (s *Session) isVoid(ev quirks.Event) bool {
	return s.stopping() && s.show.Droppable(ev)
}
