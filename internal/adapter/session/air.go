package session

import (
	acp "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
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
