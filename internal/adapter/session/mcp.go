package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/internal/updates"
	"droid-acp/internal/adapter/mcp"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/subprocess"
	"droid-acp/internal/text/paths"
)

// internal/adapter/mcp decides what is to be done about a session's MCP servers. This file does
// it: it notifies the user, and asks droid for tools.

// mcpStatus takes the states of droid's MCP servers, and notifies the user of those that failed.
func (s *Session) mcpStatus(ev stream.MCPStatusChanged) {
	client := s.proc.Client()
	if client != nil && client.Excluded() != nil {
		own := s.servers.Names() // notifyExcluded has named what else is blocked
		ev.Servers = slices.DeleteFunc(slices.Clone(ev.Servers), func(server stream.MCPServerStatus) bool {
			return server.Blocked && !slices.Contains(own, server.Name)
		})
	}
	s.mu.Go(func() {
		release, ended := s.take(s.Context, &s.explains, "a word on MCP servers", untilExplained)
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
		s.unlocked(ctx, func(ctx context.Context) { problems = s.deps.startProblems(ctx, cwd, servers) })
	}
	return problems
}

// startProblems returns why the programs of servers cannot be started. A server that is only named is looked up in the files of the project
// and of the user.
func (d *Deps) startProblems(ctx context.Context, cwd string, servers []stream.MCPServer) mcp.Problems {
	named := func(server stream.MCPServer) bool { return server.Command == "" && server.URL == "" }
	var programs map[string]string
	if slices.ContainsFunc(servers, named) {
		programs = d.Launcher.ServerPrograms(ctx, cwd)
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

// startProblem returns why the program of a server cannot be started in cwd.
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

// processOf returns what client can do with MCP servers.
func processOf(client *droid.Client) mcp.Abilities {
	return mcp.Abilities{Takes: client.TakesRuntime(), Version: client.Version()}
}

// watchServers shows the user which of the editor's MCP servers do not work, now
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

// EditorServers returns the names of the MCP servers that the editor gives to droid.
func (s *Session) EditorServers() []string { return s.servers.Names() }

// ChangeMCPServer logs out of an MCP server of the user's own file, or disables, enables or reconnects it, by the verb. Any other server is
// refused: droid would copy a project's into that file.
func (s *Session) ChangeMCPServer(ctx context.Context, verb, name string) error {
	cwd := s.cwd
	return s.changeDroid(ctx, func(ctx context.Context, client *droid.Client) error {
		server, err := s.deps.ownServer(ctx, cwd, client, name)
		switch {
		case err != nil:
			return err
		case verb == "reconnect" && server.Status == "disabled":
			return errors.New("it is off; `/mcp enable " + name + "` starts it")
		case verb == "logout" && server.Type == "stdio":
			return errors.New("it is a program that runs on your machine, so it has no login")
		}
		return nil
	}, func(ctx context.Context, client *droid.Client) error {
		switch verb {
		case "logout":
			return client.ForgetMCPLogin(ctx, name)
		case "disable":
			return client.SwitchMCPServer(ctx, name, false)
		case "enable":
			return client.SwitchMCPServer(ctx, name, true)
		}
		if err := client.SwitchMCPServer(ctx, name, false); err != nil {
			return err
		}
		err := client.SwitchMCPServer(ctx, name, true)
		if refused, ok := errors.AsType[*stream.RPCError](err); ok {
			refused.Message = fmt.Sprintf("it was stopped and not started again: %s. `/mcp enable %s` tries once more", refused.Message, name)
		}
		return err
	})
}

// ownServer returns what droid reports of an MCP server in the user's own file. The error says why there is none.
func (d *Deps) ownServer(ctx context.Context, cwd string, client *droid.Client, name string) (server stream.MCPServerStatus, err error) {
	if why, err := d.Launcher.NotOwn(ctx, cwd, name); why != "" || err != nil {
		return server, cmp.Or(err, errors.New(why))
	}
	servers, err := client.MCPServers(ctx)
	i := slices.IndexFunc(servers, func(s stream.MCPServerStatus) bool { return s.Name == name })
	switch {
	case err != nil:
		return server, err
	case i < 0:
		return server, errors.New("droid has none of this name; `/mcp` lists them")
	case servers[i].Source != "" && servers[i].Source != "user":
		return server, errors.New("droid has it from another file than your own (" + servers[i].Source + ")")
	}
	return servers[i], nil
}

// MCPServers are the MCP servers that droid reports.
type MCPServers struct {
	Servers []MCPServer
	Editor  []string // those of the editor whose state droid does not report
	Tools   []droid.MCPTool
}

// MCPServer is a server with its state in words.
type MCPServer struct{ Name, State string }

// MCPServers lists the MCP servers and their tools.
func (s *Session) MCPServers(ctx context.Context) (all MCPServers, err error) {
	own, cwd, how := s.servers.Names(), s.cwd, "left out; `/trust yes` lets it run"
	if !s.deps.Config.Trust.MayAsk() {
		how = "left out, since the agent was started with `--trust never`"
	}
	err = s.askDroid(ctx, func(ctx context.Context, client *droid.Client) error {
		servers, err := client.MCPServers(ctx)
		if err != nil {
			return err
		}
		problems := s.deps.startProblems(ctx, cwd, mcp.Named(servers))
		for _, server := range servers {
			state := mcp.State(server, problems)
			if isLeftOut(client.Excluded(), own, server) {
				state = how
			}
			all.Servers = append(all.Servers, MCPServer{server.Name, state})
		}
		if !client.TakesRuntime() {
			all.Editor = own
		}
		all.Tools, err = client.MCPTools(ctx)
		return err
	})
	return all, err
}

// isLeftOut reports whether droid was kept from a server that the project brings: by a disabled server of the same name or, where the owner
// of a server is not known, by a policy.
func isLeftOut(without *projectconfig.Layer, own []string, server stream.MCPServerStatus) bool {
	if without == nil || slices.Contains(own, server.Name) {
		return false
	}
	named := slices.ContainsFunc(without.Of(projectconfig.MCPServer), func(i projectconfig.Item) bool { return i.Name == server.Name })
	return server.Blocked && (named || without.HidesServers()) || named && (server.Status == "disabled" || server.Status == "connecting")
}

// errLoginTime is the error if a login takes too long.
var errLoginTime = errors.New("droid did not answer within 6 minutes")

// LogInToMCP begins the login to an MCP server. It returns, with the reply for the user, when droid has an address to open; a later event
// reports how the login ended. Older droids take no other call until they have answered this one, so the answer is not awaited after ctx
// has ended.
func (s *Session) LogInToMCP(ctx context.Context, name string) (reply string, err error) {
	name = s.servers.Resolve(name)
	client, err := s.readyDroid(ctx)
	if err != nil {
		return "", err
	}
	asked, answered := s.servers.BeginLogin(name), false
	s.mu.Go(func() {
		err = s.callWithin(ctx, mcp.LoginTime, errLoginTime, func(ctx context.Context) error { return client.AuthenticateMCP(ctx, name) })
		answered = true
	})
	given := s.mu.WaitFor(ctx, "a login", untilAddress, func() bool { return answered || asked.Reply != "" })
	if s.servers.DropLogin(asked) && wasCancelled(ctx) {
		s.cancelAuth(name)
	}
	switch {
	case given != nil: // ctx has ended
		return "", given
	case asked.Reply != "":
		return asked.Reply, nil
	case err != nil:
		return "", Failed("The login to "+name+" did not begin (`/mcp` lists the servers; `/mcp` in droid's own terminal can log in, too)", err)
	}
	return "You are logged in to the MCP server " + name + " already.", nil
}

// loginBegan shows the user where to log in.
func (s *Session) loginBegan(ev stream.MCPAuthRequired) {
	do := s.servers.LoginBegan(time.Now(), ev, s.deps.Client.URLs)
	if do.Show != nil {
		s.showLogin(do.Show)
	}
	s.update(render.Notices(do.Texts)...)
}

// showLogin asks the editor to open the address. No turn waits for the answer.
func (s *Session) showLogin(l *mcp.Login) {
	if s.ended {
		return
	}
	dialog := uuid.NewString()
	s.mu.Go(func() { s.askToLogIn(s.Context, l, dialog) })
}

// askToLogIn asks the user to log in, in a dialog of this id, and heeds what they say.
func (s *Session) askToLogIn(_ context.Context, l *mcp.Login, dialog string) {
	params := protocol.URLElicitation{SessionID: s.out.Session(), Mode: "url", ElicitationID: dialog, URL: l.URL, Message: protocol.Text("The MCP server " + l.Server + " needs you to log in.")}
	asked := updates.SendRequest[protocol.ElicitationResult](s.out, "elicitation/create", params)
	s.servers.Shown(l, dialog, asked)
	result, err := asked.Await(context.Background()) // when the session ends, EndLogins withdraws it
	switch {
	case err == updates.ErrWithdrawn:
		return
	case err != nil:
		s.log.Info("the editor did not show where to log in", zap.Error(err))
	}
	text, cancel := s.servers.LoginAnswered(l, result.Action, err != nil)
	if text != "" {
		s.update(render.Notice(text))
	}
	if cancel {
		s.cancelAuth(l.Server)
	}
}

// cancelAuth makes droid stop waiting for a login.
func (s *Session) cancelAuth(server string) {
	client := s.proc.Client()
	if client == nil {
		return
	}
	s.async(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, settingsTime)
		defer cancel()
		if err := client.CancelMCPAuth(ctx, server); err != nil {
			s.deps.Log.Debug("cancelling a login", zap.Error(err))
		}
	})
}

// loginEnded says how a login ended.
func (s *Session) loginEnded(ev stream.MCPAuthCompleted) {
	if dialog := s.servers.DialogOf(ev.ServerName); dialog != "" {
		s.deps.Notify("elicitation/complete", protocol.ElicitationComplete{ElicitationID: dialog})
	}
	if text := s.servers.LoginEnded(ev); text != "" {
		s.update(render.Notice(text))
	}
}
