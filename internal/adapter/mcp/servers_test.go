package mcp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// begin is the time at which these tests begin; it means nothing.
var begin = time.Unix(1_000_000, 0)

// there is a Missing that knows every program.
func there(stream.MCPServer) string { return "" }

func status(name, status string) stream.MCPServerStatus {
	return stream.MCPServerStatus{Name: name, Status: status}
}

// newest is a process that can do all that is known.
func newest() Abilities { return Abilities{true, stream.Version{Major: 1, Minor: 220}} }

// old is the version of a droid that starts the servers of a settings file alone.
func old() stream.Version { return stream.Version{Major: 1, Minor: 15} }

// with are servers of these names.
func with(names ...string) *Servers {
	s := new(Servers)
	var list []stream.MCPServer
	for _, name := range names {
		list = append(list, stream.MCPServer{Name: name, Command: name})
	}
	s.Use(list)
	return s
}

func TestUse(t *testing.T) {
	s := with("a", "b")
	require.Equal(t, []string{"a", "b"}, s.Names())
	require.False(t, s.Use(with("a", "b").List()))
	require.True(t, s.Use(with("a").List()))
	require.True(t, s.Use(nil))
	require.Empty(t, s.Names())
	require.Equal(t, "my tools", s.Resolve("my tools"), "one of droid's own")
	require.Equal(t, "my-tools", with("my-tools").Resolve("my tools"))
}

// What droid says of a server is told in the words that fit its reason.
func TestTrouble(t *testing.T) {
	s := with("a")
	s.ProcessStarted(begin, newest())
	s.LoginBegan(begin, stream.MCPAuthRequired{ServerName: "busy"}, false)
	missing := func(server stream.MCPServer) string { return "no program " + server.Command + "." }
	for _, tc := range []struct {
		server  stream.MCPServerStatus
		missing Missing
		want    string
	}{
		{status("a", "connected"), missing, ""},
		{status("a", "connecting"), missing, ""},
		{status("a", "disabled"), missing, ""},
		{status("a", "failed"), there, "The MCP server a failed."},
		{status("a", "failed"), missing, "The MCP server a cannot start: no program a."},
		{status("droid's", "failed"), there, "The MCP server droid's failed."},
		{status("droid's", "failed"), missing, "The MCP server droid's cannot start: no program ."},
		{stream.MCPServerStatus{Name: "droid's", Status: "failed", Error: "Failed to connect to MCP server"}, there, "The MCP server droid's failed to connect to MCP server."},
		{stream.MCPServerStatus{Name: "a", Status: "failed", Error: "Connection closed."}, there, "The MCP server a failed: Connection closed."},
		{stream.MCPServerStatus{Name: "a", Status: "disabled", Blocked: true}, there, "The MCP server a is blocked by a policy of your organisation."},
		{stream.MCPServerStatus{Name: "a", Status: "failed", Error: needsLogin}, there, "The MCP server a needs you to log in: type `/mcp login a`."},
		{stream.MCPServerStatus{Name: "a", Status: "failed", RequiresAuth: true}, missing, loginHint("a")},
		{stream.MCPServerStatus{Name: "a", Status: "failed", RequiresAuth: true, HasTokens: true, Error: "gone"}, there, "The MCP server a failed: gone."},
		{stream.MCPServerStatus{Name: "busy", Status: "failed", RequiresAuth: true}, there, ""},
	} {
		require.Equal(t, tc.want, s.trouble(tc.server, tc.missing))
	}
	s.ProcessStarted(begin, Abilities{})
	require.Equal(t, "The MCP server a failed.", s.trouble(status("a", "failed"), missing), "it was passed with the session: another may have the name")
}

// A failure is told once for each reason, however often droid repeats it.
func TestTroubleIsToldOnce(t *testing.T) {
	s := with("a")
	failed := stream.MCPServerStatus{Name: "a", Status: "failed", Error: "one"}
	said := func(list ...stream.MCPServerStatus) []string {
		texts := s.Status(told(list...), there)
		return texts
	}
	require.Equal(t, []string{"The MCP server a failed: one."}, said(failed, failed))
	require.Empty(t, said(failed))
	failed.Error = "two"
	require.Equal(t, []string{"The MCP server a failed: two."}, said(failed))
}

// What becomes of the servers depends on the version of droid, and on how it got
// them.
func TestOpened(t *testing.T) {
	missing := func(server stream.MCPServer) string {
		if server.Name == "b" {
			return "no such program."
		}
		return ""
	}
	const ignored = "This version of droid ignores MCP servers that an editor passes: a, b. Update droid, or add them with `droid mcp add`."
	for name, tc := range map[string]struct {
		process      Abilities
		texts, watch []string
		waits        bool
	}{
		"from the settings file": {Abilities{true, old()}, nil, nil, true},
		"a file that is ignored": {Abilities{true, stream.Version{}}, []string{ignored}, nil, false},
		"with the session":       {Abilities{false, newest().Version}, []string{"The MCP server b cannot start: no such program."}, []string{"a"}, false},
		"in vain":                {Abilities{false, old()}, []string{ignored}, nil, false},
	} {
		s := with("a", "b")
		s.ProcessStarted(begin, tc.process)
		texts, watch := s.Opened(missing)
		require.Equal(t, tc.texts, texts, name)
		require.Equal(t, tc.watch, watch, name)
		require.Equal(t, tc.waits, s.Starting(), name)
		texts, _ = s.Opened(missing)
		require.Empty(t, texts, "it is told once")
	}
	texts, watch := new(Servers).Opened(missing)
	require.Empty(t, texts)
	require.Empty(t, watch)
	require.Equal(t, []string{"These MCP servers have offered no tools so far: a, c. droid does not say why; check that they start and answer."}, with().Silent([]string{"a", "c"}))
}

// The list has each server in one line, in words that do not repeat each other.
func TestState(t *testing.T) {
	gone := func(stream.MCPServer) string { return "there is no gone." }
	for _, tc := range []struct {
		server  stream.MCPServerStatus
		missing Missing
		want    string
	}{
		{status("a", "connected"), gone, "connected"},
		{status("a", "failed"), there, "failed"},
		{status("a", "failed"), gone, "cannot start: there is no gone."},
		{stream.MCPServerStatus{Status: "failed", Error: "Failed to connect to MCP server"}, there, "failed to connect to MCP server"},
		{stream.MCPServerStatus{Status: "failed", Error: "Connection closed"}, there, "failed: Connection closed"},
		{stream.MCPServerStatus{Status: "connecting", Error: "again"}, there, "connecting: again"},
	} {
		require.Equal(t, tc.want, State(tc.server, tc.missing))
	}
}
