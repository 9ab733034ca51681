package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/rawjson"
)

// given is an MCP server as ACP gives it (McpServer: stdio without a type, http or
// sse with one). The SDK's type is not used, since it takes a server of an unknown
// type for one of another type.
type given struct {
	Type    string          `json:"type"`
	Name    string          `json:"name"`
	Command string          `json:"command"`
	Args    []string        `json:"args"`
	Env     json.RawMessage `json:"env"` // see nameValues
	URL     string          `json:"url"`
	Headers json.RawMessage `json:"headers"`
}

// Parse parses mcpServers, a param of the ACP methods that open a session, and gives the servers names that are unique and that model
// providers allow in the names of tools. A server of a type that droid does not have is left out, since the session can open without it:
// the notices name what was left out or renamed. The error says which server is malformed, in words for the editor.
func Parse(raw json.RawMessage) (servers []stream.MCPServer, notices []string, err error) {
	switch string(bytes.Join(bytes.Fields(raw), nil)) {
	case "", "{}": // so clients write an empty list whose language has one sign for both
		return nil, nil, nil
	}
	var list []given
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, nil, errors.New("mcpServers must be a list of servers" + rawjson.ListErrorDetail(err))
	}
	names := map[string]bool{}
	for i, s := range list {
		if s.Name == "" {
			return nil, nil, fmt.Errorf("mcpServers[%d] needs a name", i)
		}
		server, known, problem := s.forDroid()
		switch {
		case problem != "":
			return nil, nil, fmt.Errorf("mcpServers[%d] (%s) %s", i, s.Name, problem)
		case !known:
			notices = append(notices, fmt.Sprintf("The MCP server %s is not there: droid takes stdio, http and sse servers, not %q.", s.Name, s.Type))
			continue
		}
		server.Name = toolPrefix(s.Name)
		for n := 2; names[server.Name]; n++ {
			server.Name = fmt.Sprintf("%s-%d", toolPrefix(s.Name), n)
		}
		if server.Name != toolPrefix(s.Name) {
			notices = append(notices, fmt.Sprintf("Two MCP servers would have the name %s in droid; this one is %s there.", toolPrefix(s.Name), server.Name))
		}
		names[server.Name] = true
		servers = append(servers, server)
	}
	return servers, notices, nil
}

// forDroid returns the server in droid's shape, without its name. known is false for
// a type that droid does not have; problem says what the editor left out.
func (s given) forDroid() (server stream.MCPServer, known bool, problem string) {
	switch s.Type {
	case "", "stdio":
		if s.Command == "" {
			return server, true, "needs a command"
		}
		list, wrong := nameValues(s.Env)
		if wrong != "" {
			return server, true, "has an env that is no list of names and values; " + wrong
		}
		env := make(map[string]string, len(list))
		for _, e := range list {
			env[e.Name] = e.Value
		}
		return stream.MCPServer{Command: s.Command, Args: s.Args, Env: env}, true, ""
	case "http", "sse":
		if s.URL == "" {
			return server, true, "needs a url"
		}
		list, wrong := nameValues(s.Headers)
		if wrong != "" {
			return server, true, "has headers that are no list of names and values; " + wrong
		}
		return stream.MCPServer{URL: s.URL, Headers: append([]stream.MCPHeader{}, list...), SSE: s.Type == "sse"}, true, ""
	}
	return server, false, ""
}

// toolPrefix returns the name that a server gets in droid. droid puts it into the names
// of the server's tools, SERVER___TOOL, in which model providers allow letters,
// digits, "_" and "-" alone. 0.99 passes other characters on, and the provider then
// refuses every prompt.
func toolPrefix(name string) string {
	name = strings.Map(inToolName, name)
	for strings.Contains(name, "___") {
		name = strings.ReplaceAll(name, "___", "__")
	}
	if strings.Trim(name, "-_") == "" {
		return "mcp"
	}
	return name
}

// inToolName returns the replacement for a character of a name.
func inToolName(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
		return r
	}
	return '-'
}
