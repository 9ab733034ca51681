package adapter

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/mcp"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/subprocess"
	"droid-acp/internal/text/paths"
)

// internal/adapter/mcp decides what is to be done about a session's MCP servers. This file does
// it: it tells the user, and asks droid for tools.

// mcpStatus takes what droid says of its MCP servers, and tells of those that failed.
func (s *Session) mcpStatus(ev stream.MCPStatusChanged) {
	client := s.proc.Client()
	if client != nil && client.Without() != nil {
		own := s.servers.Names() // what else is blocked is so by what notifyExcluded has told
		ev.Servers = slices.DeleteFunc(slices.Clone(ev.Servers), func(server stream.MCPServerStatus) bool {
			return server.Blocked && !slices.Contains(own, server.Name)
		})
	}
	s.mu.Go(func() {
		release, ended := s.take(s.Context, &s.explains, "a word on MCP servers", needExplained)
		if ended != nil {
			return
		}
		defer release()
		problems := s.startProblems(s.Context, s.servers.Unexplained(ev))
		if s.proc.Client() == client {
			s.update(render.Notices(s.servers.Status(ev, problems))...)
		}
	})
}

// startProblems looks without the lock why the programs of servers cannot be started.
func (s *Session) startProblems(ctx context.Context, servers []stream.MCPServer) (problems mcp.Problems) {
	if cwd := s.cwd; len(servers) > 0 {
		s.unlocked(ctx, func(ctx context.Context) { problems = s.agent.startProblems(ctx, cwd, servers) })
	}
	return problems
}

// startProblems is why the programs of servers cannot be started. One that has a name alone is looked up in the files of the project
// and of the user.
func (a *Agent) startProblems(ctx context.Context, cwd string, servers []stream.MCPServer) mcp.Problems {
	named := func(server stream.MCPServer) bool { return server.Command == "" && server.URL == "" }
	var programs map[string]string
	if slices.ContainsFunc(servers, named) {
		programs = a.opener.ServerPrograms(ctx, cwd)
	}
	problems := mcp.Problems{}
	for _, server := range servers {
		if ctx.Err() != nil {
			break // each look may take some seconds
		}
		if named(server) {
			server.Command = programs[server.Name]
		}
		problems[server.Name] = startProblem(server, cwd)
	}
	return problems
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
	if _, err := subprocess.LookPath(command); err != nil {
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
	s.mu.Go(func() {
		client := s.proc.Client()
		problems := s.startProblems(s.Context, s.servers.Unreported())
		if s.proc.Client() != client {
			return
		}
		texts, names := s.servers.Opened(problems)
		s.update(render.Notices(texts)...)
		if len(names) == 0 {
			return
		}
		var silent []string
		s.unlocked(s.Context, func(ctx context.Context) {
			var err error
			if silent, err = client.AwaitTools(ctx, names); err != nil {
				s.log.Debug("listing MCP tools", zap.Error(err))
			}
		})
		if len(silent) > 0 && s.proc.Client() == client {
			s.update(render.Notices(s.servers.Silent(silent))...)
		}
	})
}
