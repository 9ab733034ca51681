package protocol

import (
	"encoding/json"
)

// InitializeResult is the result of initialize (ACP v1). The SDK's type omits empty objects, which mean "supported".
type InitializeResult struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	AuthMethods       []AuthMethod      `json:"authMethods"`
	AgentInfo         AgentInfo         `json:"agentInfo"`
	Meta              map[string]any    `json:"_meta,omitempty"`
}

// AgentCapabilities are the agent's capabilities.
type AgentCapabilities struct {
	LoadSession         bool                `json:"loadSession"`
	PromptCapabilities  PromptCapabilities  `json:"promptCapabilities"`
	MCPCapabilities     MCPCapabilities     `json:"mcpCapabilities"`
	SessionCapabilities SessionCapabilities `json:"sessionCapabilities"`
	Auth                AuthCapabilities    `json:"auth"`
	Providers           struct{}            `json:"providers"` // providers/list, set and disable, unstable in ACP
	Meta                AgentMeta           `json:"_meta"`
}

// AgentMeta are capabilities beyond ACP, each an empty object.
type AgentMeta struct {
	AuthStatus struct{} `json:"authStatus"` // see AuthStatusUpdate
}

// SessionCapabilities has an empty object for each supported method and each supported field of its params.
type SessionCapabilities struct {
	List   struct{} `json:"list"`
	Resume struct{} `json:"resume"`
	Close  struct{} `json:"close"`
	Delete struct{} `json:"delete"`
	Fork   struct{} `json:"fork"`   // unstable in ACP
	Title  struct{} `json:"title"`  // session/set_title, unstable in ACP
	Status struct{} `json:"status"` // unstable in ACP

	// session/archive and unarchive, archived in the params and rows of session/list; unstable in ACP
	Archive struct{} `json:"archive"`

	// session/options, and configOptions in the params of session/new, load, resume and fork; unstable in ACP
	Options struct{} `json:"options"`

	Subagents *struct{} `json:"subagents,omitempty"` // for AirSubagents; ACP has no such capability of an agent

	AdditionalDirectories struct{} `json:"additionalDirectories"`
	SystemPrompt          struct{} `json:"systemPrompt"` // {} means append only
}

// PromptCapabilities are the supported kinds of prompt content besides text and links.
type PromptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

// MCPCapabilities are the supported MCP transports besides stdio.
type MCPCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

// AgentInfo identifies the agent.
type AgentInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

// AuthMethod is a way to log in (ACP v1, authentication methods; schema 2.4.0). Type "terminal" is only for clients that declare
// auth.terminal.
type AuthMethod struct {
	Type        string         `json:"type,omitempty"` // "" is "agent"
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Args        []string       `json:"args,omitempty"` // of a terminal method, appended to those of the agent
	Meta        map[string]any `json:"_meta,omitempty"`
}

// LoginElicitation is the params of elicitation/create with mode "url" during an authenticate request (ACP v1, request scope).
type LoginElicitation struct {
	RequestID     json.RawMessage `json:"requestId"`
	Mode          string          `json:"mode"`
	ElicitationID string          `json:"elicitationId"`
	URL           string          `json:"url"`
	Message       Text            `json:"message"`
}

// AuthStatusUpdate is the notification of the current login that other agents' adapters send (claude-agent-acp 0.100.0; not part of ACP).
// An agent that sends it has "authStatus" in the _meta of its capabilities.
const AuthStatusUpdate = "_auth/status_update"

// AuthStatusParams is the params of AuthStatusUpdate.
type AuthStatusParams struct {
	AuthStatus AuthStatus `json:"authStatus"`
}

// AuthStatus describes the login in use. Kinds are "none", "account", "api_key", "gateway", and "external" for credentials managed outside
// the agent.
type AuthStatus struct {
	Kind   string `json:"kind"`
	Label  Line   `json:"label"`
	Detail Line   `json:"detail,omitzero"`
}
