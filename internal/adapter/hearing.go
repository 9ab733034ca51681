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
	case s.replay.runs(): // the history comes first
	case !s.prompts.machine.ReadEvents(): // the response that is being written wakes us
	case s.reading != nil: // files are read for what droid said before; that they are wakes us
	case s.prompts.machine.Stopping():
		events = s.proc.events() // what it says is dropped, so it needs no room
	default:
		if room = s.agent.conn.Full(); room == nil {
			events = s.proc.events()
		}
	}
	s.proc.pause(events == nil)
	return events, room
}

// isVoid tells what a cancelled turn still says. The editor does not get it, so
// that droid can be read to the end of the turn also while the editor reads
// nothing, and what it gets is what was said before, without a gap. What it knows
// as begun still ends.
func (s *Session) isVoid(ev quirks.Event) bool {
	if !s.prompts.machine.Stopping() {
		return false
	}
	switch ev := ev.(type) {
	case quirks.Text, quirks.TextRetracted, quirks.TextRestarted, quirks.Notice, quirks.Retrying,
		quirks.ToolStarted, quirks.ToolInput, quirks.ToolRunning, quirks.ToolProgress:
		return true
	case quirks.ToolEnded:
		_, shown := s.tools[ev.ID]
		return !shown
	}
	return false
}
