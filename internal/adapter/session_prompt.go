package adapter

import (
	"bytes"
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/rawjson"
)

// prompt is session/prompt. The prompts of one session run one after the other.
func (a *Agent) prompt(c *wire.Call) (any, *jsonrpc.Error) {
	var params struct {
		SessionID string        `json:"sessionId"`
		Prompt    rawjson.Value `json:"prompt"`
		Meta      rawjson.Value `json:"_meta"`
	}
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	schema, wrong := protocol.OutputFormat(json.RawMessage(params.Meta))
	if wrong != nil {
		return nil, acperr.InvalidParams("%v", wrong)
	}
	c.Params, _ = json.Marshal(map[string]string{"sessionId": params.SessionID}) // lookup reads no more, and the turn outlives its images; a text always encodes
	s, ticket, err := a.lookup(c)
	if err != nil && err.Code == acperr.CodeCancelled {
		return protocol.PromptResult{StopReason: acp.StopReasonCancelled}, nil
	}
	if err != nil {
		return nil, err
	}
	defer ticket.Release()
	return s.Prompt(c, ticket, params.SessionID, json.RawMessage(params.Prompt), bytes.Clone(schema))
}

// cancelTurn is session/cancel: it ends the running prompt and the waiting ones.
func (a *Agent) cancelTurn(c *wire.Call) (any, *jsonrpc.Error) {
	id, err := sessionID(c)
	if err != nil {
		return nil, err
	}
	s, known := a.Sessions.Cancel(id)
	if !known {
		return nil, acperr.UnknownSession(id)
	}
	s.Cancel()
	return nil, nil
}
