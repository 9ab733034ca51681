package adapter

import (
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// nextEvent returns the channel of droid's events, nil while droid is not to be
// read. If droid is not read because the outbox is full, room is closed when there
// is room again.
func (s *Session) nextEvent() (events <-chan stream.Event, room <-chan struct{}) {
	s.Guard(func() { room = s.replayOn() })
	switch {
	case s.load.Shows(): // the history comes first
	case !s.prompts.machine.ReadEvents(): // a response is being written; its end wakes us
	case s.fileCalls.Holding() != nil: // files are being read for an earlier event; the end of that wakes us
	case s.prompts.machine.Stopping():
		events = s.proc.events() // what it says is dropped, so it needs no room
	default:
		if room = s.out.Full(); room == nil {
			events = s.proc.events()
		}
	}
	s.proc.pause(events == nil)
	return events, room
}

// isVoid reports whether an event is dropped because its turn was cancelled. Dropped
// events need no room in the outbox, so droid is read to the end of the turn even
// while the editor reads nothing. The editor gets all that was said before the
// cancel, and what it knows as begun still ends.
func (s *Session) isVoid(ev quirks.Event) bool {
	return s.prompts.machine.Stopping() && s.show.Droppable(ev)
}
