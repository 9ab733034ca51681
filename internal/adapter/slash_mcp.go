package adapter

import (
	"context"
	"fmt"
	"strings"

	"droid-acp/internal/droid"
	"droid-acp/internal/mcp"
)

// mcpCommand shows the MCP servers and their tools, or begins the login to one.
func mcpCommand(r *slashRun, args string) {
	if name, ok := strings.CutPrefix(args, "login"); ok {
		beginLogin(r, strings.TrimSpace(name))
		return
	}
	own, cwd := r.s.servers.Names(), r.s.cwd
	r.ask("droid did not tell its MCP servers", func(ctx context.Context, client *droid.Client) (string, error) {
		missing := r.s.agent.missingOf(ctx, cwd)
		servers, err := client.MCPServers(ctx)
		if err != nil {
			return "", err
		}
		tools, err := client.MCPTools(ctx)
		var b strings.Builder
		for _, server := range servers {
			fmt.Fprintf(&b, "- %s: %s\n", server.Name, mcp.State(server, missing))
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
