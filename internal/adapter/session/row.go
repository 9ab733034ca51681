package session

import (
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/options"
)

// row is what a list shows of an open session besides what is stored, for a client with a session index.
type row struct {
	state   string // protocol.AirRunning and the like
	rested  time.Time
	modelID string
}

// AirRow returns what is known of the open session. It does not need the lock.
func (s *Session) AirRow() (r protocol.AirRow) {
	if now := s.row.Load(); now != nil {
		r.State, r.Model = now.state, now.modelID
		if !now.rested.IsZero() {
			r.TurnEndedAt = now.rested.UTC().Format(time.RFC3339Nano)
		}
	}
	return r
}

// updateRow has subscribers of lists look when the session's row has changed. It runs as the session's lock is given up.
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
