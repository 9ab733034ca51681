package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/adapter/mcp"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/droid/stream"
)

// mcpCommand shows the MCP servers and their tools, begins the login to one, or changes one of the user's own.
func mcpCommand(r *commandRun, args string) {
	switch verb, name := cutWord(args); {
	case verb == "login":
		beginLogin(r, name)
	case verb != "":
		changeServer(r, verb, name)
	default:
		showServers(r)
	}
}

// changeServer does what the user wants with an MCP server of their own file. Any other is refused: droid would copy a project's
// into that file.
func changeServer(r *commandRun, verb, name string) {
	a, cwd := r.s.agent, r.s.cwd
	if slices.Contains(r.s.servers.Names(), name) {
		r.reply(name + " comes from your editor; change it there.")
		return
	}
	failed := "droid did not " + cmp.Or(map[string]string{"logout": "log out of"}[verb], verb) + " the MCP server " + name
	sought := map[string]string{"disable": name + " is off now", "logout": "droid has forgotten the login to " + name}[verb]
	client := r.droid()
	if client == nil {
		return
	}
	if !r.looks(failed, func(ctx context.Context) error {
		server, err := a.ownServer(ctx, cwd, client, name)
		switch {
		case err != nil:
			return err
		case verb == "reconnect" && server.Status == "disabled":
			return errors.New("it is off; `/mcp enable " + name + "` starts it")
		case verb == "logout" && server.Type == "stdio":
			return errors.New("it is a program that runs on your machine, so it has no login")
		}
		return nil
	}) {
		return
	}
	r.do(failed, cmp.Or(sought, name+" is on now"), func(ctx context.Context) (string, error) { return switchServer(ctx, client, verb, name) })
}

// ownServer is what droid says of an MCP server of the user's own file. An error says why it is none.
func (a *Agent) ownServer(ctx context.Context, cwd string, client *droid.Client, name string) (server stream.MCPServerStatus, err error) {
	if why, err := a.opener.NotOwn(ctx, cwd, name); why != "" || err != nil {
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

// switchServer has droid change a server, and says what became of it.
func switchServer(ctx context.Context, client *droid.Client, verb, name string) (string, error) {
	switch verb {
	case "logout":
		return "droid has forgotten the login to " + name + ". What it has open goes on until `/mcp reconnect " + name + "`.", client.ForgetMCPLogin(ctx, name)
	case "disable":
		return name + " is off, in all your projects.", client.SwitchMCPServer(ctx, name, false)
	case "enable":
		return name + " is on, in all your projects; `/mcp` shows what becomes of it.", client.SwitchMCPServer(ctx, name, true)
	}
	if err := client.SwitchMCPServer(ctx, name, false); err != nil {
		return "", err
	}
	err := client.SwitchMCPServer(ctx, name, true)
	if refused, ok := errors.AsType[*stream.RPCError](err); ok {
		refused.Message = fmt.Sprintf("it was stopped and not started again: %s. `/mcp enable %s` tries once more", refused.Message, name)
	}
	return name + " was stopped and started again; `/mcp` shows what became of it.", err
}

// showServers shows the MCP servers and their tools.
func showServers(r *commandRun) {
	own, cwd, how := r.s.servers.Names(), r.s.cwd, "left out; `/trust yes` lets it run"
	if !r.s.agent.cfg.Trust.MayAsk() {
		how = "left out, since the agent was started with `--trust never`"
	}
	r.ask("droid did not tell its MCP servers", func(ctx context.Context, client *droid.Client) (string, error) {
		servers, err := client.MCPServers(ctx)
		if err != nil {
			return "", err
		}
		problems := r.s.agent.startProblems(ctx, cwd, mcp.Named(servers))
		tools, err := client.MCPTools(ctx)
		var b strings.Builder
		for _, server := range servers {
			state := mcp.State(server, problems)
			if isLeftOut(client.Without(), own, server) {
				state = how
			}
			fmt.Fprintf(&b, "- %s: %s\n", server.Name, state)
		}
		if len(servers) == 0 {
			b.WriteString("droid has no MCP servers of its own (`droid mcp add` adds one).\n")
		}
		if len(own) > 0 && !client.TakesRuntime() {
			fmt.Fprintf(&b, "\nFrom the editor: %s. droid does not tell their state.\n", strings.Join(own, ", "))
		}
		for _, tool := range tools {
			fmt.Fprintf(&b, "- tool %s %s\n", tool.ServerName, tool.Name)
		}
		return b.String(), err
	})
}

// isLeftOut reports whether droid was kept from a server, as the project brings it: by a server of its name that
// is disabled, or, where nobody can tell whose a server is, by a policy.
func isLeftOut(without *projectconfig.Layer, own []string, server stream.MCPServerStatus) bool {
	if without == nil || slices.Contains(own, server.Name) {
		return false
	}
	named := slices.ContainsFunc(without.Of(projectconfig.MCPServer), func(i projectconfig.Item) bool { return i.Name == server.Name })
	return server.Blocked && (named || without.HidesServers()) || named && (server.Status == "disabled" || server.Status == "connecting")
}
