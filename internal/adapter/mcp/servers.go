// Package mcp holds what a session knows of its MCP servers: which the editor gave, which of them still start, who logs in to one, and what
// the user has been notified of. It decides what is to be done; the session does it. The package is pure: it starts no goroutine, reads no
// clock and does no I/O. Times are arguments.
package mcp

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
)

// Abilities say what a droid process can do with the editor's MCP servers.
type Abilities struct {
	Takes   bool // it gets them by its settings file, see droid.Client.SetRuntime
	Version stream.Version
}

// Servers are the MCP servers of one session. The zero value has none. It is not
// safe for concurrent use.
type Servers struct {
	list    []stream.MCPServer
	process Abilities         // the one that runs; the zero value for none
	start   *start            // of the servers in it; nil when there is nothing to wait for
	logins  map[string]*Login // that have begun, by server
	pending *PendingLogin     // the "/mcp login" that waits for an address
	shown   map[string]struct{}
}

// Problems says of each server by name why its program cannot be started, nothing where it can.
type Problems map[string]string

// Use makes list the session's servers. It reports whether they are others than
// before.
func (s *Servers) Use(list []stream.MCPServer) (changed bool) {
	if reflect.DeepEqual(s.list, list) {
		return false
	}
	s.list = list
	return true
}

// List returns the session's servers. It must not be changed.
func (s *Servers) List() []stream.MCPServer { return s.list }

// Names returns what the servers are called in droid.
func (s *Servers) Names() []string {
	names := make([]string, len(s.list))
	for i, server := range s.list {
		names[i] = server.Name
	}
	return names
}

// Resolve returns what droid calls the server that the user named.
func (s *Servers) Resolve(name string) string {
	if own := toolPrefix(name); slices.Contains(s.Names(), own) {
		return own
	}
	return name
}

// DroidStarted says that a droid works for the session from now on. Where it
// takes servers, they begin to start.
func (s *Servers) DroidStarted(now time.Time, p Abilities) {
	s.process, s.start = p, nil
	if p.Takes && len(s.list) > 0 {
		s.start = newStart(now, s.Names())
	}
}

// DroidExited says that droid has exited, or was replaced. No prompt
// waits for its servers, and its logins lead nowhere.
func (s *Servers) DroidExited() {
	s.process, s.start = Abilities{}, nil
	s.EndLogins()
}

// Unreported returns the servers of which droid will not say whether they start.
func (s *Servers) Unreported() []stream.MCPServer {
	if s.process.Takes || !s.process.Version.Supports(stream.StartsServersOfSession) {
		return nil
	}
	return s.list
}

// Opened records that the process has opened the session. It returns the texts for the user about the servers, and the servers whose tools
// droid must be asked for. droid reports by itself on servers from its settings file. It may ignore those that are passed with the session
// (quirk 24), and does not report on them, even if they do not start (0.215 to 0.225). problems are those of Unreported.
func (s *Servers) Opened(problems Problems) (texts, watch []string) {
	switch {
	case s.process.Takes && !s.process.Version.Supports(stream.StartsServersOfSettings):
		s.start = nil
		return s.ignored(s.Names()), nil
	case s.process.Takes:
		return nil, nil
	case !s.process.Version.Supports(stream.StartsServersOfSession):
		return s.ignored(s.Names()), nil
	}
	for _, server := range s.Unreported() {
		if problem := problems[server.Name]; problem != "" {
			texts = append(texts, s.once("The MCP server "+server.Name+" cannot start: "+problem)...)
			continue
		}
		watch = append(watch, server.Name)
	}
	return texts, watch
}

// Silent returns the texts for the user about servers whose tools droid still does not list.
func (s *Servers) Silent(names []string) (texts []string) {
	return s.once("These MCP servers have offered no tools so far: " + strings.Join(names, ", ") + ". droid does not say why; check that they start and answer.")
}

// Unexplained returns the servers whose failure is explained if their programs cannot be started. One that the editor did not pass has only
// a name.
func (s *Servers) Unexplained(ev stream.MCPStatusChanged) (servers []stream.MCPServer) {
	for _, server := range ev.Servers {
		own := slices.Index(s.Names(), server.Name)
		switch {
		case server.Status != "failed":
		case own < 0:
			servers = append(servers, stream.MCPServer{Name: server.Name})
		case s.process.Takes:
			servers = append(servers, s.list[own])
		}
	}
	return servers
}

// Status handles droid's report on its servers. It returns the texts for the user: each failure once for each reason, and which servers
// have connected after they were reported late. problems are those of Unexplained.
func (s *Servers) Status(ev stream.MCPStatusChanged, problems Problems) (texts []string) {
	if s.start != nil {
		for _, name := range s.start.hear(ev) {
			texts = append(texts, "The MCP server "+name+" has connected now.")
		}
	}
	for _, server := range ev.Servers {
		texts = append(texts, s.once(s.trouble(server, problems))...)
	}
	s.started()
	return texts
}

// needsLogin is droid's reason when a server wants a login; requiresAuth follows a moment later (0.225).
const needsLogin = "Authentication required"

// trouble returns the text for the user about a server, "" for none.
func (s *Servers) trouble(server stream.MCPServerStatus, problems Problems) string {
	name := "The MCP server " + server.Name
	switch {
	case server.Blocked:
		return name + " is blocked by a policy of your organisation."
	case server.Status != "failed":
		return ""
	case s.logins[server.Name] != nil:
		return "" // the user has the address of the login
	case server.RequiresAuth && !server.HasTokens, server.Error == needsLogin:
		return loginHint(server.Name)
	}
	if problem := problems[server.Name]; problem != "" {
		return name + " cannot start: " + problem
	}
	return name + " " + failure(server) + "."
}

// failure says that a server has failed, and why. droid's reason may begin with the same word.
func failure(server stream.MCPServerStatus) string {
	why := strings.TrimSuffix(server.Error, ".")
	if why == "" {
		return "failed"
	}
	if why == "Failed to connect to MCP server" {
		return "could not connect"
	}
	if rest, same := strings.CutPrefix(why, "Failed to "); same {
		return "failed to " + rest
	}
	return "failed: " + why
}

// Named returns the servers that droid reports, which have only names.
func Named(told []stream.MCPServerStatus) (servers []stream.MCPServer) {
	for _, server := range told {
		servers = append(servers, stream.MCPServer{Name: server.Name})
	}
	return servers
}

// State says in one line how a server is.
func State(server stream.MCPServerStatus, problems Problems) string {
	switch problem := problems[server.Name]; {
	case server.Status == "failed" && problem != "":
		return "cannot start: " + problem
	case server.Status == "failed":
		return failure(server)
	case server.Error != "":
		return server.Status + ": " + server.Error
	}
	return server.Status
}

// ignored returns the text for the user about servers that droid does not start.
func (s *Servers) ignored(names []string) (texts []string) {
	if len(names) == 0 {
		return nil
	}
	return s.once("This version of droid ignores MCP servers that an editor passes: " + strings.Join(names, ", ") + ". Update droid, or add them with `droid mcp add`.")
}

// once returns a text unless it was returned before. droid repeats much of its reports on servers.
func (s *Servers) once(text string) (texts []string) {
	if _, told := s.shown[text]; told || text == "" {
		return nil
	}
	if s.shown == nil {
		s.shown = make(map[string]struct{})
	}
	s.shown[text] = struct{}{}
	return []string{text}
}
