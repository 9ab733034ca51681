package adapter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/adapter/mcp"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/layer"
	"droid-acp/internal/droid/stream"
)

// mcpCommand shows the MCP servers and their tools, or begins the login to one.
func mcpCommand(r *slashRun, args string) {
	if name, ok := strings.CutPrefix(args, "login"); ok {
		beginLogin(r, strings.TrimSpace(name))
		return
	}
	own, cwd, how := r.s.servers.Names(), r.s.cwd, "left out; `/trust yes` lets it run"
	if !r.s.agent.cfg.Trust.MayAsk() {
		how = "left out, since the agent was started with `--trust never`"
	}
	r.ask("droid did not tell its MCP servers", func(ctx context.Context, client *droid.Client) (string, error) {
		missing := r.s.agent.missingOf(ctx, cwd)
		servers, err := client.MCPServers(ctx)
		if err != nil {
			return "", err
		}
		tools, err := client.MCPTools(ctx)
		var b strings.Builder
		for _, server := range servers {
			state := mcp.State(server, missing)
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
func isLeftOut(without *layer.Layer, own []string, server stream.MCPServerStatus) bool {
	if without == nil || slices.Contains(own, server.Name) {
		return false
	}
	named := slices.ContainsFunc(without.Of(layer.MCPServer), func(i layer.Item) bool { return i.Name == server.Name })
	return server.Blocked && (named || without.HidesServers()) || named && (server.Status == "disabled" || server.Status == "connecting")
}
