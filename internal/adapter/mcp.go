package adapter

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/child"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/mcp"
	"droid-acp/internal/paths"
	"droid-acp/internal/show"
)

// internal/mcp decides what is to be done about a session's MCP servers. This file does
// it: it tells the user, and asks droid for tools.

// whenServersStarted calls f now, or when the MCP servers of the process have
// started or failed, or are late.
func (s *Session) whenServersStarted(f func()) {
	s.servers.Await(time.Now())
	s.when("the prompt", f, needServers)
}

// tellStarting tells what a prompt waits for, and which servers are late.
func (s *Session) tellStarting(now time.Time) {
	s.tell(show.Notices(s.servers.Tick(now, s.works()))...)
}

// mcpStatus tells of MCP servers that failed.
func (s *Session) mcpStatus(ev stream.MCPStatusChanged) {
	if client := s.proc.Client(); client != nil && client.Without() != nil {
		own := s.servers.Names() // what else is blocked is so by what tellLeftOut has told
		ev.Servers = slices.DeleteFunc(slices.Clone(ev.Servers), func(server stream.MCPServerStatus) bool {
			return server.Blocked && !slices.Contains(own, server.Name)
		})
	}
	s.tell(show.Notices(s.servers.Status(ev, s.missing))...)
}

// missing is why the program of a server cannot be started, "" when it can.
func (s *Session) missing(server stream.MCPServer) string { return startProblem(server, s.cwd) }

// startProblem is why the program of a server cannot be started in cwd.
func startProblem(server stream.MCPServer, cwd string) string {
	if server.Command == "" {
		return ""
	}
	command := server.Command
	if strings.ContainsRune(command, filepath.Separator) {
		command = paths.Absolute(cwd, command)
	}
	if _, err := child.Find(command); err != nil {
		return err.Error() + "."
	}
	return ""
}

// processOf is what client can do with MCP servers.
func processOf(client *droid.Client) mcp.Abilities {
	return mcp.Abilities{Takes: client.TakesRuntime(), Version: client.Version()}
}

// watchServers tells the user which of the editor's MCP servers do not work, now
// that droid has opened the session.
func (s *Session) watchServers() {
	texts, names := s.servers.Opened(s.missing)
	s.tell(show.Notices(texts)...)
	if len(names) == 0 {
		return
	}
	client := s.proc.Client()
	s.Do(func(ctx context.Context) {
		if names = s.awaitTools(ctx, client, names); len(names) == 0 {
			return
		}
		s.Post(func() {
			if s.proc.Client() == client {
				s.tell(show.Notices(s.servers.Silent(names))...)
			}
		})
	})
}

// toolPatience is how long droid's list of MCP tools is waited for: it is asked
// after 3, 10 and 25 seconds.
var toolPatience = [...]time.Duration{3 * time.Second, 7 * time.Second, 15 * time.Second}

// awaitTools waits until droid lists tools of the named servers, and returns the
// names of those that have offered none in the end: none when the process or the
// session is gone. It blocks.
func (s *Session) awaitTools(ctx context.Context, client *droid.Client, names []string) (silent []string) {
	for _, wait := range toolPatience {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-client.Exited():
			timer.Stop()
			return nil
		}
		found, err := serversWithTools(ctx, client)
		if err != nil {
			s.agent.log.Debug("listing MCP tools", zap.Error(err))
			return nil
		}
		names = slices.DeleteFunc(names, func(name string) bool { return found[name] })
		if len(names) == 0 {
			return nil
		}
	}
	return names
}

// toolsTime bounds how long droid may take to list its MCP tools.
const toolsTime = 10 * time.Second

// serversWithTools asks droid for its MCP tools. Those of the session's servers
// are among them, though list_mcp_servers leaves these out (0.215 to 0.225).
func serversWithTools(ctx context.Context, client *droid.Client) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, toolsTime)
	defer cancel()
	tools, err := client.MCPTools(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, t := range tools {
		found[t.ServerName] = true
	}
	return found, nil
}
