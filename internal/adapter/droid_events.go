package adapter

import (
	"time"

	"droid-acp/internal/droid/stream"
)

// nextEvent returns the channel of droid's events, nil while droid is not to be
// read. If droid is not read because the outbox is full, room is closed when there
// is room again.
func (s *Session) nextEvent() (events <-chan stream.Event, room <-chan struct{}) {
	if s.load.Shows() {
		s.Guard(func() { room = s.load.Open().showHistory() })
	}
	switch {
	case s.load.Shows(): // the history comes first
	case !s.prompts.ReadEvents(): // a response is being written; its end wakes us
	case s.fileCalls.Waiting() != nil: // files are being read for an earlier event; the end of that wakes us
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

// silenceDue is when the user is to be told that the model says nothing; ok is false
// while that is not so, or the user sees the reason: a running tool or a question.
func (s *Session) silenceDue() (at time.Time, ok bool) {
	if !s.prompts.Working() || s.dialog.IsOpen() || s.show.Busy() {
		return time.Time{}, false
	}
	return s.proc.SilenceDue()
}
