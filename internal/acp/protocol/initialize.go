package protocol

// InitializeResult is the result of initialize (ACP v1). Own type: the SDK's
// leaves out empty objects that say "supported".
type InitializeResult struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	AuthMethods       []AuthMethod      `json:"authMethods"`
	AgentInfo         AgentInfo         `json:"agentInfo"`
	Meta              map[string]any    `json:"_meta,omitempty"`
}

// AgentCapabilities are what the agent can do.
type AgentCapabilities struct {
	LoadSession         bool                `json:"loadSession"`
	PromptCapabilities  PromptCapabilities  `json:"promptCapabilities"`
	MCPCapabilities     MCPCapabilities     `json:"mcpCapabilities"`
	SessionCapabilities SessionCapabilities `json:"sessionCapabilities"`
	Meta                AgentMeta           `json:"_meta"`
}

// AgentMeta are what the agent can do beyond ACP, an empty object each.
type AgentMeta struct {
	AuthStatus struct{} `json:"authStatus"` // see AuthStatusUpdate
}

// SessionCapabilities has an empty object for each method, and each field of its params,
// that is supported.
type SessionCapabilities struct {
	List   struct{} `json:"list"`
	Resume struct{} `json:"resume"`
	Close  struct{} `json:"close"`
	Delete struct{} `json:"delete"`
	Fork   struct{} `json:"fork"`  // unstable in ACP
	Title  struct{} `json:"title"` // session/set_title, unstable in ACP

	AdditionalDirectories struct{} `json:"additionalDirectories"`
	SystemPrompt          struct{} `json:"systemPrompt"` // unstable in ACP; {} is append alone
}

// PromptCapabilities are the kinds of content a prompt may have besides text and links.
type PromptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

// MCPCapabilities are the kinds of MCP servers a session may have besides those on stdio.
type MCPCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

// AgentInfo is what the agent calls itself.
type AgentInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}
