package adapter

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/paths"
)

// mcpPatience is when droid is asked, after the session was opened, which of the
// MCP servers that it was passed with the session offer tools. droid reports nothing
// of them by itself, also when they do not start (0.215 to 0.225).
var mcpPatience = [...]time.Duration{3 * time.Second, 7 * time.Second, 15 * time.Second}

// watchServers tells the user which of the editor's MCP servers do not work. Of
// those that the process has from its start droid tells by itself; those passed
// with the session it may ignore (quirk 24), and says nothing of them.
func (s *Session) watchServers() {
	version := s.client.Version()
	switch has := s.client.TakesMCPServers(); {
	case has && !version.Has(stream.StartsServersOfSettings):
		s.starting = nil
		s.ignored(serverNames(s.servers))
		return
	case has:
		if s.starting != nil {
			s.starting.heard = false // what came before the session told nothing of them
		}
		return
	case !version.Has(stream.StartsServersOfSession):
		s.ignored(serverNames(s.servers))
		return
	}
	var names []string
	for _, server := range s.servers {
		if problem := startProblem(server, s.cwd); problem != "" {
			s.reportOnce("The MCP server " + server.Name + " cannot start: " + problem)
			continue
		}
		names = append(names, server.Name)
	}
	client := s.client
	if len(names) == 0 {
		return
	}
	s.do(func(ctx context.Context) {
		for _, wait := range mcpPatience {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			case <-client.Exited():
				timer.Stop()
				return
			}
			found, err := serversWithTools(ctx, client)
			if err != nil {
				s.agent.log.Debug("listing MCP tools", zap.Error(err))
				return
			}
			names = slices.DeleteFunc(names, func(name string) bool { return found[name] })
			if len(names) == 0 {
				return
			}
		}
		s.post(func() {
			if s.client == client {
				s.reportOnce("These MCP servers have offered no tools so far: " + strings.Join(names, ", ") + ". droid does not say why; check that they start and answer.")
			}
		})
	})
}

// startProblem is why a server's program is not there, if so.
func startProblem(server droid.MCPServer, cwd string) string {
	if server.Command == "" {
		return ""
	}
	command := server.Command
	if strings.ContainsRune(command, filepath.Separator) {
		command = paths.Absolute(cwd, command)
	}
	if _, err := exec.LookPath(command); err != nil {
		return err.Error() + "."
	}
	return ""
}

// serversWithTools asks droid for its MCP tools. Those of the session's servers
// are among them, though list_mcp_servers leaves these out (0.215 to 0.225).
func serversWithTools(ctx context.Context, client *droid.Client) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
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

// ignored tells that droid does not start the editor's servers.
func (s *Session) ignored(names []string) {
	if len(names) > 0 {
		s.reportOnce("This version of droid ignores MCP servers that an editor passes: " + strings.Join(names, ", ") + ". Update droid, or add them with `droid mcp add`.")
	}
}

func serverNames(servers []droid.MCPServer) []string {
	names := make([]string, len(servers))
	for i, server := range servers {
		names[i] = server.Name
	}
	return names
}

// report says something that belongs to no turn: now if one runs, else with the
// next prompt. Editors drop updates of a session that they do not know yet.
func (s *Session) report(text string) {
	if s.works() && s.id != "" {
		s.tell(text)
		return
	}
	s.note(text)
}

// reportOnce is report for what droid repeats.
func (s *Session) reportOnce(text string) {
	if _, told := s.reported[text]; told {
		return
	}
	if s.reported == nil {
		s.reported = make(map[string]struct{})
	}
	s.reported[text] = struct{}{}
	s.report(text)
}
