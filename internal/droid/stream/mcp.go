package stream

import "encoding/json"

// MCPServer is an MCP server that droid starts for the session. URL set means
// HTTP, or server-sent events if SSE is set, else Command is run.
type MCPServer struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Headers []MCPHeader
	SSE     bool
}

// Kind is droid's word for the transport: "stdio", "http" or "sse".
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

// MarshalJSON writes droid's shape: env is an object, headers an array, and
// neither they nor args may be null (0.99 to 0.225).
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
	Source string `json:"source"`     // whose file names it: "user", "project", "folder" (a project's, too), …
	Type   string `json:"serverType"` // "stdio", "http" or "sse"
	Error  string `json:"error"`
	// RequiresAuth and Blocked are true when a login is needed, and when a policy
	// of the organisation forbids the server.
	RequiresAuth bool `json:"requiresAuth"`
	HasTokens    bool `json:"hasAuthTokens"`
	Blocked      bool `json:"blockedByPolicy"`
}

// MCPStatusChanged is mcp_status_changed. Opened is whether it came behind the
// response to the latest call that opened a session, so that it is about that
// session's servers: a droid that was started ahead tells of its own before (0.99.0,
// 0.225.2).
type MCPStatusChanged struct {
	Servers []MCPServerStatus `json:"servers"`
	Opened  bool              `json:"-"`
}

// MCPAuthRequired is mcp_auth_required: a login has begun and waits for the user
// to open AuthURL, which ends at a port of droid's own on loopback. 0.225 sends it
// after droid.Client.AuthenticateMCP alone. 0.99 also sends it when a server
// refuses, and then that port only answers "No matching authorization flow found".
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
