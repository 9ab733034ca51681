package adapter

import (
	"encoding/json"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/accounts"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/jsonrpc"
)

// peer is how far the client has come.
type peer struct {
	mu          sync.Mutex // guards initialized, and editorFiles until they are opened
	initialized bool
}

// greet takes what the client says of itself.
func (a *Agent) greet(client protocol.ClientCapabilities) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.initialized, a.Client = true, client
}

// checkInitialized refuses what comes before initialize, and a second initialize.
func (p *peer) checkInitialized(method string) *jsonrpc.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case method == acp.AgentMethodInitialize && p.initialized:
		return acperr.InvalidRequest("initialize was called before on this connection; it is called once")
	case method != acp.AgentMethodInitialize && !p.initialized:
		return acperr.InvalidRequest("call initialize first")
	}
	return nil
}

// initialize answers at once, without droid, so that a client learns what this agent
// can do even where droid is missing. The agent speaks ACP version 1, whatever the
// client offers.
func (a *Agent) initialize(c *wire.Call) (any, *jsonrpc.Error) {
	var params struct {
		ProtocolVersion json.RawMessage `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"clientCapabilities"`
		Info            json.RawMessage `json:"clientInfo"`
	}
	if err := acperr.Decode(c.Params, &params); err != nil {
		return nil, err
	}
	if version := string(params.ProtocolVersion); version == "" || version == "null" {
		return nil, acperr.InvalidParams("protocolVersion is missing; this agent speaks version 1")
	}
	client := protocol.ParseCapabilities(params.Capabilities, params.Info).WithUserSetting(a.cfg.ClientShows)
	a.openFiles(c.Context, a.Config.Files.UsesEditor(client))
	a.greet(client)
	a.Launcher.Spare.Prepare()
	logClient(a.Log, params.Info)

	var session protocol.SessionCapabilities
	if client.Subagents == protocol.AirSubagents {
		session.Subagents = new(struct{})
	}
	meta := steeringMeta()
	if air := client.AirAnswer(); air != nil {
		meta["jetbrains"] = air
	}
	return protocol.InitializeResult{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentCapabilities: protocol.AgentCapabilities{
			LoadSession:         true,
			PromptCapabilities:  protocol.PromptCapabilities{Image: true, EmbeddedContext: true},
			MCPCapabilities:     protocol.MCPCapabilities{HTTP: true, SSE: true},
			SessionCapabilities: session,
		},
		AuthMethods: accounts.Ways(client, a.cfg.LoginCommand),
		Meta:        meta,
		AgentInfo:   protocol.AgentInfo{Name: "droid-acp", Title: "droid-acp", Version: a.Config.Version},
	}, nil
}
