package adapter

import (
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/wire"
)

// authMethodLogin is the id of the one way to log in.
const authMethodLogin = "factory-login"

// initializeResult is the result of initialize (ACP v1). Own type: the SDK's
// leaves out empty objects that say "supported".
type initializeResult struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities agentCapabilities `json:"agentCapabilities"`
	AuthMethods       []authMethod      `json:"authMethods"`
	AgentInfo         agentInfo         `json:"agentInfo"`
}

type agentCapabilities struct {
	LoadSession         bool                `json:"loadSession"`
	PromptCapabilities  promptCapabilities  `json:"promptCapabilities"`
	MCPCapabilities     mcpCapabilities     `json:"mcpCapabilities"`
	SessionCapabilities sessionCapabilities `json:"sessionCapabilities"`
}

// sessionCapabilities has an empty object for each method that is supported.
type sessionCapabilities struct {
	List   struct{} `json:"list"`
	Resume struct{} `json:"resume"`
	Close  struct{} `json:"close"`
	Delete struct{} `json:"delete"`
	Fork   struct{} `json:"fork"` // unstable in ACP
}

type promptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

type mcpCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

type authMethod struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Meta        map[string]any `json:"_meta,omitempty"`
}

type agentInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

// initialize answers at once, without droid: a client learns what this agent
// can do also where droid is missing. ACP version 1 is what it speaks, whatever
// is offered.
func (a *Agent) initialize(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		ProtocolVersion json.RawMessage `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"clientCapabilities"`
		Info            json.RawMessage `json:"clientInfo"`
	}
	if err := decode(c.Params, &params); err != nil {
		return nil, err
	}
	if version := string(params.ProtocolVersion); version == "" || version == "null" {
		return nil, invalidParams("protocolVersion is missing; this agent speaks version 1")
	}
	a.mu.Lock()
	a.initialized = true
	a.client = readCapabilities(params.Capabilities, params.Info)
	a.mu.Unlock()
	a.spare.prepare()

	return initializeResult{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentCapabilities: agentCapabilities{
			LoadSession:        true,
			PromptCapabilities: promptCapabilities{Image: true, EmbeddedContext: true},
			MCPCapabilities:    mcpCapabilities{HTTP: true, SSE: true},
		},
		AuthMethods: []authMethod{a.loginMethod()},
		AgentInfo:   agentInfo{Name: "droid-acp", Title: "droid-acp (bridge to Factory's droid)", Version: a.cfg.Version},
	}, nil
}

// loginMethod describes the login. Clients that can open a terminal (Zed, by
// _meta "terminal-auth") are told to run droid in it.
func (a *Agent) loginMethod() authMethod {
	m := authMethod{ID: authMethodLogin, Name: "Log in to Factory", Description: loginRemedy}
	if path, err := a.cfg.Locate(); err == nil {
		m.Meta = map[string]any{"terminal-auth": map[string]any{
			"label": "Log in to Factory (type /login)", "command": path, "args": []string{}, "env": map[string]string{},
		}}
	}
	return m
}

// authenticate cannot log in by itself: droid does that in a terminal. It
// checks that droid is there and lets the client try again; whether the login
// holds shows with the next prompt.
func (a *Agent) authenticate(c *wire.Call) (any, *acp.RequestError) {
	var params struct {
		MethodID string `json:"methodId"`
	}
	if err := decode(c.Params, &params); err != nil {
		return nil, err
	}
	if params.MethodID != authMethodLogin {
		return nil, invalidParams("unknown methodId %q; the one method is %q", params.MethodID, authMethodLogin)
	}
	if _, err := a.cfg.Locate(); err != nil {
		return nil, startError(err)
	}
	return struct{}{}, nil
}
