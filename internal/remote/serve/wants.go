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

// wants is what a client asks to have a session opened with.
type wants struct {
	directory string
	servers   []mcpServer
}

// mcpServer is one as the client gives it, with sorted fields.
type mcpServer struct{ name, json string }

// wantsOf reads them from the params of a method that opens a session.
func wantsOf(params []byte) (w wants) {
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

// differs reports whether what is wanted is in another directory, and which servers it has besides. To want fewer is
// no difference: what a window lacks does not bother it.
func (w wants) differs(wanted wants) (moves bool, lacks []mcpServer) {
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
func (w wants) sameServers(other wants) bool {
	_, more := w.differs(other)
	_, fewer := other.differs(w)
	return more == nil && fewer == nil
}

// theServers names servers to people, each as named shows it.
func theServers(servers []mcpServer, named func(string) string) string {
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

// cannot is the error of a window that wants a session otherwise while a turn runs in it.
func (o *session) cannot(wanted wants, moves bool, lacks []mcpServer) *jsonrpc.Error {
	why := fmt.Sprintf("in %s, so it cannot be opened in %s now", visible.Line(o.wants.directory), visible.Line(wanted.directory))
	if !moves {
		why = "without " + theServers(lacks, plain) + ", so it cannot be opened with that now"
	}
	return jsonrpc.PlainError(jsonrpc.CodeInvalidParams, "The session cannot be opened: a prompt runs in it "+why+"; wait for its end, or stop it, then load it again")
}

// goesOn notes what a session was opened with, and tells the others where that differs.
func (o *session) goesOn(c *call) {
	moves, lacks := o.wants.differs(c.wants)
	c.wants.directory = cmp.Or(c.wants.directory, o.wants.directory)
	o.wants = c.wants
	if c.client == nil {
		return
	}
	switch {
	case moves:
		o.say("\n\n"+c.client.shownName()+" has opened this session in "+markdown.Code(visible.Line(c.wants.directory))+", where it goes on.\n\n", c.client)
	case lacks != nil:
		o.say("\n\n"+c.client.shownName()+" has opened this session with "+theServers(lacks, markdown.Code)+".\n\n", c.client)
	}
}
