package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/rawjson"
	"droid-acp/internal/text/visible"
)

// openParams are the parameters with which a client opens a session.
type openParams struct {
	directory string
	servers   []mcpServer
}

// mcpServer is an MCP server as the client gives it, with sorted fields.
type mcpServer struct{ name, json string }

// parseOpenParams reads them from the params of a method that opens a session.
func parseOpenParams(params []byte) (w openParams) {
	if cwd := textAt(params, "cwd"); cwd != "" {
		w.directory = filepath.Clean(cwd)
	}
	var servers []map[string]any
	_ = json.Unmarshal(rawjson.Field(params, "mcpServers"), &servers) // the agent reports what is wrong with it
	for _, s := range servers {
		text, _ := json.Marshal(s) // it was decoded from JSON
		name, _ := s["name"].(string)
		w.servers = append(w.servers, mcpServer{name, string(text)})
	}
	return w
}

// compare reports whether wanted has another directory, and which servers it has in addition. Fewer servers are no difference to clients that
// share a session: they do not disturb one that does not use them.
func (w openParams) compare(wanted openParams) (moves bool, lacks []mcpServer) {
	has := map[mcpServer]bool{}
	for _, s := range w.servers {
		has[s] = true
	}
	for _, s := range wanted.servers {
		if !has[s] {
			lacks = append(lacks, s)
		}
	}
	return wanted.directory != "" && wanted.directory != w.directory, lacks
}

// serverNames lists servers for people, each formatted by named.
func serverNames(servers []mcpServer, named func(string) string) string {
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = named(visible.Line(s.name))
	}
	if len(names) == 1 {
		return "the MCP server " + names[0]
	}
	return "the MCP servers " + strings.Join(names, ", ")
}

func plain(name string) string { return name }

// reopenError returns the error of a client that wants other parameters while a turn runs in the session.
func (o *session) reopenError(wanted openParams, moves bool, lacks []mcpServer) *jsonrpc.Error {
	why := fmt.Sprintf("in %s, so it cannot be opened in %s now", visible.Line(o.params.directory), visible.Line(wanted.directory))
	if !moves {
		why = "without " + serverNames(lacks, plain) + ", so it cannot be opened with that now"
	}
	return jsonrpc.PlainError(jsonrpc.CodeInvalidParams, "The session cannot be opened: a prompt runs in it "+why+"; wait for its end, or stop it, then load it again")
}

// adoptParams records the parameters that a session was opened with, and informs the other clients if they differ.
func (o *session) adoptParams(c *pendingCall) {
	moves, lacks := o.params.compare(c.params)
	c.params.directory = cmp.Or(c.params.directory, o.params.directory)
	o.params = c.params
	if c.client == nil {
		return
	}
	switch {
	case moves:
		o.broadcastText("\n\n"+c.client.shownName()+" has opened this session in "+markdown.Code(visible.Line(c.params.directory))+", where it goes on.\n\n", c.client)
	case lacks != nil:
		o.broadcastText("\n\n"+c.client.shownName()+" has opened this session with "+serverNames(lacks, markdown.Code)+".\n\n", c.client)
	}
}
