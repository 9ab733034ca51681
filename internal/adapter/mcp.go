package adapter

import (
	"encoding/json"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
)

// mcpServer is an MCP server as ACP gives it (McpServer: stdio without a type,
// http or sse with one). Own type: the SDK's takes unknown types for others.
type mcpServer struct {
	Type    string      `json:"type"`
	Name    string      `json:"name"`
	Command string      `json:"command"`
	Args    []string    `json:"args"`
	Env     []nameValue `json:"env"`
	URL     string      `json:"url"`
	Headers []nameValue `json:"headers"`
}

type nameValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// mcpServers turns the editor's MCP servers into droid's shape, where env is an
// object (quirk 24).
func mcpServers(raw json.RawMessage) ([]droid.MCPServer, *acp.RequestError) {
	if len(raw) == 0 {
		return nil, nil
	}
	var list []mcpServer
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, invalidParams("mcpServers must be a list of servers: %v", err)
	}
	var out []droid.MCPServer
	for i, s := range list {
		switch {
		case s.Name == "":
			return nil, invalidParams("mcpServers[%d] needs a name", i)
		case s.Type == "http" && s.URL != "":
			headers := make([]droid.MCPHeader, 0, len(s.Headers))
			for _, h := range s.Headers {
				headers = append(headers, droid.MCPHeader(h))
			}
			out = append(out, droid.MCPServer{Name: s.Name, URL: s.URL, Headers: headers})
		case (s.Type == "" || s.Type == "stdio") && s.Command != "":
			env := make(map[string]string, len(s.Env))
			for _, e := range s.Env {
				env[e.Name] = e.Value
			}
			out = append(out, droid.MCPServer{Name: s.Name, Command: s.Command, Args: s.Args, Env: env})
		default:
			return nil, invalidParams("mcpServers[%d] (%s): droid takes stdio servers with a command and http servers with a url, not type %q", i, s.Name, s.Type)
		}
	}
	return out, nil
}
