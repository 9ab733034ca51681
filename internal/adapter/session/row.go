package session

import (
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/options"
)

// row holds the fields of an open session that a list shows in addition to the stored ones, for a client with a session index.
type row struct {
	state   string // protocol.AirRunning and the like
	rested  time.Time
	modelID string
}

// AirRow returns the fields of the open session for a list. The caller need not hold the lock.
func (s *Session) AirRow() (r protocol.AirRow) {
	if now := s.row.Load(); now != nil {
		r.State, r.Model = now.state, now.modelID
		if !now.rested.IsZero() {
			r.TurnEndedAt = now.rested.UTC().Format(time.RFC3339Nano)
		}
	}
	return r
}

// updateRow updates the session's row, and notifies subscribers of lists if it has changed. It runs when the session's lock is released.
func (s *Session) updateRow() {
	if !s.deps.Client.SessionIndex {
		return
	}
	before, now := s.row.Load(), row{state: protocol.AirIdle, modelID: options.OrEmpty(s.options.Settings().ModelID)}
	if before == nil {
		before = new(row)
	}
	works, _ := s.works(time.Now())
	switch {
	case s.questions.IsOpen():
		now.state = protocol.AirRequiresAction
	case works:
		now.state = protocol.AirRunning
	}
	if now.rested = before.rested; now.state == protocol.AirIdle && before.state != now.state && before.state != "" {
		now.rested = time.Now()
	}
	if now != *before {
		s.row.Store(&now)
		s.deps.RowChanged()
	}
}
