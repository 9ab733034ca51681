package session

import (
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
)

// Additions for JetBrains' client Air, where it declares them.

// reportError reports the error that ends a prompt's turn as a failure of the session. The response comes all the same.
func (p *userPrompt) reportError(err *jsonrpc.Error) {
	if err == nil {
		return
	}
	if f, ok := acperr.SessionFailure(err); ok {
		p.reportFailure(f)
	}
}

// reportFailure sends a failure, in place of those before of the same prompt.
func (p *userPrompt) reportFailure(f protocol.SessionFailure) {
	if !p.s.deps.Client.SessionFailures {
		return
	}
	if p.failures == 0 {
		p.failureID = uuid.NewString() + ":error"
	}
	p.failures++
	f.ID, f.Revision = p.failureID, p.failures
	p.s.update(protocol.FailureUpdate(f))
}

// reportRetry reports that droid calls the model again.
func (s *Session) reportRetry(ev quirks.Retrying) {
	if id, runs := s.prompts.Running(); runs {
		s.prompts.Get(id).reportFailure(acperr.RetryWarning(ev.Reason))
	}
}

// markReplayEnd marks the end of what the call replays, if it is a load.
func (s *Session) markReplayEnd(c *wire.Call) {
	if c.Method == acp.AgentMethodSessionLoad && s.deps.Client.LoadReplayEnd {
		s.update(protocol.ReplayEndUpdate())
	}
}

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
	case s.questions.AwaitUser():
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
