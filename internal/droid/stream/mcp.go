package stream

// MCPServerStatus is one server in MCPStatusChanged.
type MCPServerStatus struct {
	Name   string `json:"name"`
	Status string `json:"status"` // "connecting", "connected", "failed" or "disabled"
	Error  string `json:"error"`
	// RequiresAuth and Blocked are true when a login is needed, and when a policy
	// of the organisation forbids the server.
	RequiresAuth bool `json:"requiresAuth"`
	HasTokens    bool `json:"hasAuthTokens"`
	Blocked      bool `json:"blockedByPolicy"`
}

// MCPStatusChanged is mcp_status_changed.
type MCPStatusChanged struct {
	Servers []MCPServerStatus `json:"servers"`
}

// MCPAuthRequired is mcp_auth_required: a login has begun and waits for the user
// to open AuthURL, which ends at a port of droid's own on loopback. 0.225 sends it
// after AuthenticateMCP alone. 0.99 and 0.117 also send it when a server refuses, and
// then nothing waits at the end: "No matching authorization flow found".
type MCPAuthRequired struct {
	ServerName string `json:"serverName"`
	AuthURL    string `json:"authUrl"`
	Message    string `json:"message"`
}

// MCPAuthCompleted is mcp_auth_completed: the login to a server has ended. Outcome
// is "success" or why there was none.
type MCPAuthCompleted struct {
	ServerName string `json:"serverName"`
	Outcome    string `json:"outcome"`
	Message    string `json:"message"`
}
