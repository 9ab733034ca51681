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

// openParams is what a client asks to have a session opened with.
type openParams struct {
	directory string
	servers   []mcpServer
}

// mcpServer is one as the client gives it, with sorted fields.
type mcpServer struct{ name, json string }

// parseOpenParams reads them from the params of a method that opens a session.
func parseOpenParams(params []byte) (w openParams) {
	if cwd := textAt(params, "cwd"); cwd != "" {
		w.directory = filepath.Clean(cwd)
	}
	var servers []map[string]any
	_ = json.Unmarshal(rawjson.Field(params, "mcpServers"), &servers) // the agent says what is wrong with it
	for _, s := range servers {
		text, _ := json.Marshal(s) // what was JSON
		name, _ := s["name"].(string)
		w.servers = append(w.servers, mcpServer{name, string(text)})
	}
	return w
}

// compare reports whether what is wanted is in another directory, and which servers it has besides. To want fewer is
// no difference: what a window lacks does not bother it.
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

// sameServers reports whether both want the same servers: an agent loads the session with those that it is given.
func (w openParams) sameServers(other openParams) bool {
	_, more := w.compare(other)
	_, fewer := other.compare(w)
	return more == nil && fewer == nil
}

// serverNames names servers to people, each as named shows it.
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

// reopenError is the error of a window that wants a session otherwise while a turn runs in it.
func (o *session) reopenError(wanted openParams, moves bool, lacks []mcpServer) *jsonrpc.Error {
	why := fmt.Sprintf("in %s, so it cannot be opened in %s now", visible.Line(o.params.directory), visible.Line(wanted.directory))
	if !moves {
		why = "without " + serverNames(lacks, plain) + ", so it cannot be opened with that now"
	}
	return jsonrpc.PlainError(jsonrpc.CodeInvalidParams, "The session cannot be opened: a prompt runs in it "+why+"; wait for its end, or stop it, then load it again")
}

// adoptParams notes what a session was opened with, and tells the others where that differs.
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
