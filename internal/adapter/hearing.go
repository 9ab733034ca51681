package adapter

import (
	"time"

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
	case !s.prompts.ReadEvents(): // a response is being written; its end wakes us
	case s.fileCalls.Holding() != nil: // files are being read for an earlier event; the end of that wakes us
	case s.prompts.Stopping():
		events = s.proc.Events() // what it says is dropped, so it needs no room
	default:
		if room = s.out.Full(); room == nil {
			events = s.proc.Events()
		}
	}
	s.proc.Pause(events == nil)
	return events, room
}

// isVoid reports whether an event is dropped because its turn was cancelled. Dropped
// events need no room in the outbox, so droid is read to the end of the turn even
// while the editor reads nothing. The editor gets all that was said before the
// cancel, and what it knows as begun still ends.
func (s *Session) isVoid(ev quirks.Event) bool {
	return s.prompts.Stopping() && s.show.Droppable(ev)
}

// silenceDue is when the user is to be told that the model says nothing; ok is false
// while that is not so, or the user sees the reason: a running tool or a question.
func (s *Session) silenceDue() (at time.Time, ok bool) {
	if !s.prompts.Working() || s.dialog.IsOpen() || s.show.Busy() {
		return time.Time{}, false
	}
	return s.proc.SilenceDue()
}

// tellSilence tells the user, when it is due, for how long the model has said nothing.
func (s *Session) tellSilence(now time.Time) {
	if at, ok := s.silenceDue(); ok && !now.Before(at) {
		s.tell(s.show.Text(s.proc.TellSilence())...)
	}
}
