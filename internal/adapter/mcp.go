package adapter

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/mcp"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/show"
	"droid-acp/internal/sys/child"
	"droid-acp/internal/text/paths"
)

// internal/adapter/mcp decides what is to be done about a session's MCP servers. This file does
// it: it tells the user, and asks droid for tools.

// mcpStatus tells of MCP servers that failed.
func (s *Session) mcpStatus(ev stream.MCPStatusChanged) {
	if client := s.proc.Client(); client != nil && client.Without() != nil {
		own := s.servers.Names() // what else is blocked is so by what tellLeftOut has told
		ev.Servers = slices.DeleteFunc(slices.Clone(ev.Servers), func(server stream.MCPServerStatus) bool {
			return server.Blocked && !slices.Contains(own, server.Name)
		})
	}
	own := s.servers.Names()
	if s.agent.cfg.Trust == nil || !slices.ContainsFunc(ev.Servers, func(server stream.MCPServerStatus) bool {
		return server.Status == "failed" && !slices.Contains(own, server.Name)
	}) {
		s.tell(show.Notices(s.servers.Status(ev, s.missing))...)
		return
	}
	s.Go(func(t *owner.Task) {
		cwd, missing := s.cwd, mcp.Missing(nil)
		t.Beside(func(ctx context.Context) { missing = s.agent.missingOf(ctx, cwd) })
		s.tell(show.Notices(s.servers.Status(ev, missing))...)
	})
}

// missing is why the program of a server cannot be started, "" when it can.
func (s *Session) missing(server stream.MCPServer) string { return startProblem(server, s.cwd) }

// missingOf is missing that also knows the servers in the files of the project and of the user, by name. It reads them.
func (a *Agent) missingOf(ctx context.Context, cwd string) mcp.Missing {
	programs := a.opener.ServerPrograms(ctx, cwd)
	return func(server stream.MCPServer) string {
		if server.Command == "" && server.URL == "" {
			server.Command = programs[server.Name]
		}
		return startProblem(server, cwd)
	}
}

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
	s.Go(func(t *owner.Task) {
		client, silent := s.proc.Client(), []string(nil)
		t.Beside(func(ctx context.Context) {
			var err error
			if silent, err = client.AwaitTools(ctx, names); err != nil {
				s.log.Debug("listing MCP tools", zap.Error(err))
			}
		})
		if len(silent) > 0 && s.proc.Client() == client {
			s.tell(show.Notices(s.servers.Silent(silent))...)
		}
	})
}
