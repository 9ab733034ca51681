package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"droid-acp/internal/adapter/session"
)

// mcpCommand shows the MCP servers and their tools, begins the login to one, or changes one of the user's own.
func mcpCommand(ctx context.Context, s *session.Session, args string) (string, error) {
	switch verb, name := cutWord(args); {
	case verb == "login":
		return s.LogInToMCP(ctx, name)
	case verb != "":
		return changeServer(ctx, s, verb, name, "/mcp "+args)
	}
	return showServers(ctx, s)
}

// changeServer changes an MCP server of the user's file as verb requests.
func changeServer(ctx context.Context, s *session.Session, verb, name, command string) (string, error) {
	if slices.Contains(s.EditorServers(), name) {
		return "", errors.New(name + " comes from your editor; change it there.")
	}
	err := s.ChangeMCPServer(ctx, verb, name)
	text := "droid did not " + cmp.Or(map[string]string{"logout": "log out of"}[verb], verb) + " the MCP server " + name
	sought := map[string]string{"disable": name + " is off now", "logout": "droid has forgotten the login to " + name}[verb]
	return map[string]string{
		"logout":    "droid has forgotten the login to " + name + ". What it has open goes on until `/mcp reconnect " + name + "`.",
		"disable":   name + " is off, in all your projects.",
		"enable":    name + " is on, in all your projects; `/mcp` shows what becomes of it.",
		"reconnect": name + " was stopped and started again; `/mcp` shows what became of it.",
	}[verb], notChanged(err, text, cmp.Or(sought, name+" is on now"), command)
}

// showServers shows the MCP servers and their tools.
func showServers(ctx context.Context, s *session.Session) (string, error) {
	all, err := s.MCPServers(ctx)
	if err != nil {
		return "", session.Failed("droid did not tell its MCP servers", err)
	}
	var b strings.Builder
	for _, server := range all.Servers {
		fmt.Fprintf(&b, "- %s: %s\n", server.Name, server.State)
	}
	if len(all.Servers) == 0 {
		b.WriteString("droid has no MCP servers of its own (`droid mcp add` adds one).\n")
	}
	if len(all.Editor) > 0 {
		fmt.Fprintf(&b, "\nFrom the editor: %s. droid does not tell their state.\n", strings.Join(all.Editor, ", "))
	}
	for _, tool := range all.Tools {
		fmt.Fprintf(&b, "- tool %s %s\n", tool.ServerName, tool.Name)
	}
	return b.String(), nil
}
