package stream

import "encoding/json"

// MCPServer is an MCP server that droid starts for the session. With a URL it is HTTP, or server-sent events if SSE is set; otherwise
// Command is run.
type MCPServer struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Headers []MCPHeader
	SSE     bool
}

// Kind returns droid's name of the transport: "stdio", "http" or "sse".
func (s MCPServer) Kind() string {
	switch {
	case s.URL == "":
		return "stdio"
	case s.SSE:
		return "sse"
	}
	return "http"
}

// MCPHeader is one HTTP header.
type MCPHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// MarshalJSON writes droid's format: env is an object, headers an array, and neither they nor args may be null (0.99 to 0.225).
func (s MCPServer) MarshalJSON() ([]byte, error) {
	if s.URL != "" {
		return json.Marshal(struct {
			Type    string      `json:"type"`
			Name    string      `json:"name"`
			URL     string      `json:"url"`
			Headers []MCPHeader `json:"headers"`
		}{s.Kind(), s.Name, s.URL, append([]MCPHeader{}, s.Headers...)})
	}
	env := s.Env
	if env == nil {
		env = map[string]string{}
	}
	return json.Marshal(struct {
		Name    string            `json:"name"`
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
	}{s.Name, s.Command, append([]string{}, s.Args...), env})
}

// MCPServerStatus is one server in MCPStatusChanged.
type MCPServerStatus struct {
	Name   string `json:"name"`
	Status string `json:"status"`     // "connecting", "connected", "failed" or "disabled"
	Source string `json:"source"`     // whose file names it: "user", "project", "folder" (also of a project), …
	Type   string `json:"serverType"` // "stdio", "http" or "sse"
	Error  string `json:"error"`
	// RequiresAuth means that a login is needed, Blocked that a policy of the organisation forbids the server.
	RequiresAuth bool `json:"requiresAuth"`
	HasTokens    bool `json:"hasAuthTokens"`
	Blocked      bool `json:"blockedByPolicy"`
}

// MCPStatusChanged is mcp_status_changed. Opened says that it followed the response to the latest call that opened a session, so that it
// concerns that session's servers: a prewarmed droid reports its own servers before (0.99.0, 0.225.2).
type MCPStatusChanged struct {
	Servers []MCPServerStatus `json:"servers"`
	Opened  bool              `json:"-"`
}

// MCPAuthRequired is mcp_auth_required: a login has begun and waits for the user to open AuthURL, which redirects to a loopback port of
// droid. 0.225 sends it only after droid.Client.AuthenticateMCP. 0.99 also sends it when a server refuses, and then that port only answers
// "No matching authorization flow found".
type MCPAuthRequired struct {
	ServerName string `json:"serverName"`
	AuthURL    string `json:"authUrl"`
	Message    string `json:"message"`
}

// MCPAuthCompleted is mcp_auth_completed: the login to a server has ended. Outcome is "success" or the reason for a failure.
type MCPAuthCompleted struct {
	ServerName string `json:"serverName"`
	Outcome    string `json:"outcome"`
	Message    string `json:"message"`
}
