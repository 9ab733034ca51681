package adapter

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
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

// mcpServers turns the editor's MCP servers into droid's shape. A server that
// droid cannot take does not keep the session from opening: notices tell of it.
func mcpServers(raw json.RawMessage) (servers []stream.MCPServer, notices []string, err *acp.RequestError) {
	if len(raw) == 0 {
		return nil, nil, nil
	}
	var list []mcpServer
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, nil, invalidParams("mcpServers must be a list of servers: %v", err)
	}
	names := map[string]bool{}
	for i, s := range list {
		if s.Name == "" {
			return nil, nil, invalidParams("mcpServers[%d] needs a name", i)
		}
		server, known, err := s.forDroid()
		switch {
		case err != "":
			return nil, nil, invalidParams("mcpServers[%d] (%s) %s", i, s.Name, err)
		case !known:
			notices = append(notices, fmt.Sprintf("The MCP server %s is not there: droid takes stdio, http and sse servers, not %q.", s.Name, s.Type))
			continue
		}
		server.Name = toolPrefix(s.Name)
		for n := 2; names[server.Name]; n++ {
			server.Name = fmt.Sprintf("%s-%d", toolPrefix(s.Name), n)
		}
		if server.Name != toolPrefix(s.Name) {
			notices = append(notices, fmt.Sprintf("Two MCP servers would be called %s in droid; this one is %s there.", toolPrefix(s.Name), server.Name))
		}
		names[server.Name] = true
		servers = append(servers, server)
	}
	return servers, notices, nil
}

// forDroid is the server in droid's shape, but for the name. known is false for
// a type that droid does not have.
func (s mcpServer) forDroid() (server stream.MCPServer, known bool, problem string) {
	switch s.Type {
	case "", "stdio":
		if s.Command == "" {
			return server, true, "needs a command"
		}
		env := make(map[string]string, len(s.Env))
		for _, e := range s.Env {
			env[e.Name] = e.Value
		}
		return stream.MCPServer{Command: s.Command, Args: s.Args, Env: env}, true, ""
	case "http", "sse":
		if s.URL == "" {
			return server, true, "needs a url"
		}
		headers := make([]stream.MCPHeader, 0, len(s.Headers))
		for _, h := range s.Headers {
			headers = append(headers, stream.MCPHeader(h))
		}
		return stream.MCPServer{URL: s.URL, Headers: headers, SSE: s.Type == "sse"}, true, ""
	}
	return server, false, ""
}

var (
	notInToolNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)
	underscores    = regexp.MustCompile(`___+`)
)

// toolPrefix is a server's name as the beginning of the names of its tools,
// SERVER___TOOL, which model providers take letters, digits, "_" and "-" in: 0.99
// would pass on others, and the provider refuse every prompt.
func toolPrefix(name string) string {
	name = underscores.ReplaceAllString(notInToolNames.ReplaceAllString(name, "-"), "__")
	if strings.Trim(name, "-_") == "" {
		return "mcp"
	}
	return name
}
