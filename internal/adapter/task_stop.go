package adapter

import (
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/jsonrpc"
)

// methodStopTask stops a command in the background (Air; claude-agent-acp 0.101, codex-acp 2.6).
const methodStopTask = "_session/async_task/stop"

// stopTask is methodStopTask. stopped is false where there is no such command, or none any more.
func (a *Agent) stopTask(c *wire.Call) (any, *jsonrpc.Error) {
	var params struct {
		AsyncTaskID string `json:"asyncTaskId"`
	}
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	s, ticket, err := a.lookup(c)
	if err != nil {
		return nil, err
	}
	stopped, err := s.StopTask(ticket.Release, params.AsyncTaskID)
	if err != nil {
		return nil, err
	}
	return map[string]bool{"stopped": stopped}, nil
}
