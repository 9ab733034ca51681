package adapter

import (
	"slices"
	"strings"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
)

// A prompt waits for MCP servers that are still starting, so that the model knows
// their tools. 0.2 s is common; a server that is installed first takes seconds, and
// one that never answers is given up by droid after 30 s (0.225) or 60 s (0.99).
const (
	serversTime  = 10 * time.Second // after the start of the process no prompt waits
	serversQuiet = 2 * time.Second  // after which a prompt that waits says so
)

// starting are the MCP servers that a process was given, until each has connected
// or failed.
type starting struct {
	names  []string        // of those that have not
	known  map[string]bool // those that droid has named
	heard  bool            // droid has told which it has since it opened the session
	until  time.Time       // when they are late
	late   bool            // the user knows that they are
	tellAt time.Time       // when the prompt that waits says so; zero when it has
	held   func()          // goes on with that prompt
}

// startingServers is what there is to wait for in a process, nil for nothing.
func startingServers(client *droid.Client, servers []droid.MCPServer) *starting {
	if !client.TakesMCPServers() || len(servers) == 0 {
		return nil
	}
	return newStarting(serverNames(servers))
}

func newStarting(names []string) *starting {
	return &starting{names: names, known: map[string]bool{}, until: time.Now().Add(serversTime)}
}

// hear takes what droid said of its servers. It returns those that are there after
// the user was told that they are late.
func (w *starting) hear(servers []stream.MCPServerStatus) (arrived []string) {
	w.heard = true
	for _, server := range servers {
		i := slices.Index(w.names, server.Name)
		if i < 0 {
			continue
		}
		w.known[server.Name] = true
		if server.Status == "connecting" {
			continue
		}
		w.names = slices.Delete(w.names, i, i+1)
		if w.late && server.Status == "connected" {
			arrived = append(arrived, server.Name)
		}
	}
	return arrived
}

// due is when something must be told of them.
func (w *starting) due() (at time.Time, ok bool) {
	switch {
	case w == nil || w.late:
		return time.Time{}, false
	case w.held != nil && !w.tellAt.IsZero() && w.tellAt.Before(w.until):
		return w.tellAt, true
	}
	return w.until, true
}

// whenServersStarted calls f now, or when the MCP servers have started or failed
// or are late.
func (s *Session) whenServersStarted(f func()) {
	if s.starting == nil || s.starting.late {
		f()
		return
	}
	s.starting.held, s.starting.tellAt = f, time.Now().Add(serversQuiet)
}

// tellStarting tells what a prompt waits for, and goes on without servers that are
// late.
func (s *Session) tellStarting(now time.Time) {
	w := s.starting
	if at, ok := w.due(); !ok || now.Before(at) {
		return
	}
	if now.Before(w.until) {
		w.tellAt = time.Time{}
		if s.works() {
			s.tell("Waiting for the MCP servers to start: " + strings.Join(w.names, ", ") + ".")
		}
		return
	}
	w.late = true
	if w.heard { // else droid (0.99) says nothing until the first has started or failed
		s.ignored(slices.DeleteFunc(slices.Clone(w.names), func(name string) bool { return w.known[name] }))
		w.names = slices.DeleteFunc(w.names, func(name string) bool { return !w.known[name] })
	}
	if len(w.names) > 0 {
		text := "These MCP servers have not answered for " + serversTime.String() + ": " + strings.Join(w.names, ", ") +
			". It goes on without their tools, which come when they have. Until then, or until droid gives them up after a minute at most, calls of other MCP tools may wait."
		if !s.client.Version().Has(stream.OffersToolsEarly) {
			text += " This version of droid does not offer them to the model before."
		}
		s.report(text)
	}
	s.goOnWithServers()
}

// goOnWithServers hands droid the prompt that waited.
func (s *Session) goOnWithServers() {
	w := s.starting
	if len(w.names) == 0 {
		s.starting = nil
	}
	if held := w.held; held != nil {
		w.held = nil
		held()
	}
}

// mcpStatus tells of MCP servers that failed, once for each reason.
func (s *Session) mcpStatus(ev stream.MCPStatusChanged) {
	if w := s.starting; w != nil {
		for _, name := range w.hear(ev.Servers) {
			s.report("The MCP server " + name + " is there now.")
		}
	}
	for _, server := range ev.Servers {
		if text := s.trouble(server); text != "" {
			s.reportOnce(text)
		}
	}
	if w := s.starting; w != nil && (len(w.names) == 0) {
		s.goOnWithServers()
	}
}

// needsLogin is what droid gives as the reason when a server wants a login; that
// requiresAuth comes a moment later (0.225).
const needsLogin = "Authentication required"

// trouble is what the user must know of a server, "" for nothing.
func (s *Session) trouble(server stream.MCPServerStatus) string {
	name := "The MCP server " + server.Name
	switch {
	case server.Blocked:
		return name + " is blocked by a policy of your organisation."
	case server.Status != "failed":
		return ""
	case s.logins[server.Name] != nil:
		return "" // told with its address
	case server.RequiresAuth && !server.HasTokens, server.Error == needsLogin:
		return loginHint(server.Name)
	}
	for _, own := range s.servers {
		if own.Name == server.Name && s.client != nil && s.client.TakesMCPServers() {
			if problem := startProblem(own, s.cwd); problem != "" {
				return name + " cannot start: " + problem
			}
		}
	}
	if server.Error == "" {
		return name + " failed."
	}
	return name + " failed: " + strings.TrimSuffix(server.Error, ".") + "."
}
