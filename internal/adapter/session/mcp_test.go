package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/mcp"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
)

func status(name, status string) stream.MCPServerStatus {
	return stream.MCPServerStatus{Name: name, Status: status}
}

// beginWith begins a session whose process is starting these MCP servers.
func beginWith(t *testing.T, option fakedroid.Option, names ...string) *editor {
	e := begin(t, playing(says("hi"), option))
	e.inside(func(s *session.Session) {
		var servers []stream.MCPServer
		for _, name := range names {
			servers = append(servers, stream.MCPServer{Name: name})
		}
		s.Servers().Use(servers)
		s.Servers().DroidStarted(time.Now(), mcp.Abilities{Takes: true, Version: s.Process().Client().Version()})
	})
	return e
}

// hear makes droid report its servers.
func (e *editor) hear(list ...stream.MCPServerStatus) {
	e.inside(func(s *session.Session) { s.MCPStatus(stream.MCPStatusChanged{Servers: list, Opened: true}) })
}

func (e *editor) told() string { return strings.Join(e.updates(), "\n") }

// A prompt waits until the servers have started or failed.
func TestPromptWaitsForServers(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := beginWith(t, v, "a", "b")
		prompt := e.prompt("go")
		e.hear(status("a", "connecting"), status("b", "connecting"), status("other", "connected"))
		e.hear(status("a", "connected"), status("b", "connecting"))
		_, over := e.answered(prompt)
		require.False(t, over)
		e.hear(status("a", "connected"), stream.MCPServerStatus{Name: "b", Status: "failed", Error: "no answer"})
		require.Equal(t, "end_turn", ended(e.await(prompt)))
		told := e.told()
		require.Contains(t, told, "The MCP server b failed: no answer.")
		require.NotContains(t, told, "Waiting")
		require.NotContains(t, told, "MCP server a")
		require.Equal(t, "end_turn", e.run("again"))
	})
}
