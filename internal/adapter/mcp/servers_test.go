package mcp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// begin is the time at which these tests begin; it means nothing.
var begin = time.Unix(1_000_000, 0)

func status(name, status string) stream.MCPServerStatus {
	return stream.MCPServerStatus{Name: name, Status: status}
}

// newest returns the abilities of a process that supports everything.
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

// droid's report of a server is shown in words that fit its reason.
func TestTrouble(t *testing.T) {
	s := with("a")
	s.DroidStarted(begin, newest())
	s.LoginBegan(begin, stream.MCPAuthRequired{ServerName: "busy"}, false)
	missing := Problems{"a": "no program a.", "droid's": "there is none."}
	for _, tc := range []struct {
		server   stream.MCPServerStatus
		problems Problems
		want     string
	}{
		{status("a", "connected"), missing, ""},
		{status("a", "connecting"), missing, ""},
		{status("a", "disabled"), missing, ""},
		{status("a", "failed"), nil, "The MCP server a failed."},
		{status("a", "failed"), missing, "The MCP server a cannot start: no program a."},
		{status("droid's", "failed"), nil, "The MCP server droid's failed."},
		{status("droid's", "failed"), missing, "The MCP server droid's cannot start: there is none."},
		{stream.MCPServerStatus{Name: "droid's", Status: "failed", Error: "Failed to connect to MCP server"}, nil, "The MCP server droid's could not connect."},
		{stream.MCPServerStatus{Name: "a", Status: "failed", Error: "Connection closed."}, nil, "The MCP server a failed: Connection closed."},
		{stream.MCPServerStatus{Name: "a", Status: "disabled", Blocked: true}, nil, "The MCP server a is blocked by a policy of your organisation."},
		{stream.MCPServerStatus{Name: "a", Status: "failed", Error: needsLogin}, nil, "The MCP server a needs you to log in: type `/mcp login a`."},
		{stream.MCPServerStatus{Name: "a", Status: "failed", RequiresAuth: true}, missing, loginHint("a")},
		{stream.MCPServerStatus{Name: "a", Status: "failed", RequiresAuth: true, HasTokens: true, Error: "gone"}, nil, "The MCP server a failed: gone."},
		{stream.MCPServerStatus{Name: "busy", Status: "failed", RequiresAuth: true}, nil, ""},
	} {
		require.Equal(t, tc.want, s.trouble(tc.server, tc.problems))
	}
	failed := told(status("a", "failed"), status("droid's", "failed"), status("b", "connected"))
	require.Equal(t, []stream.MCPServer{{Name: "a", Command: "a"}, {Name: "droid's"}}, s.Unexplained(failed))
	s.DroidStarted(begin, Abilities{})
	require.Equal(t, []stream.MCPServer{{Name: "droid's"}}, s.Unexplained(failed), "it was passed with the session: another may have the name")
}

// A failure is shown once for each reason, however often droid repeats it.
func TestTroubleIsToldOnce(t *testing.T) {
	s := with("a")
	failed := stream.MCPServerStatus{Name: "a", Status: "failed", Error: "one"}
	said := func(list ...stream.MCPServerStatus) []string { return s.Status(told(list...), nil) }
	require.Equal(t, []string{"The MCP server a failed: one."}, said(failed, failed))
	require.Empty(t, said(failed))
	failed.Error = "two"
	require.Equal(t, []string{"The MCP server a failed: two."}, said(failed))
}

// The outcome for the servers depends on the version of droid, and on how it got them.
func TestOpened(t *testing.T) {
	missing := Problems{"b": "no such program."}
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
		s.DroidStarted(begin, tc.process)
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
	gone := Problems{"a": "there is no gone."}
	for _, tc := range []struct {
		server   stream.MCPServerStatus
		problems Problems
		want     string
	}{
		{status("a", "connected"), gone, "connected"},
		{status("a", "failed"), nil, "failed"},
		{status("a", "failed"), gone, "cannot start: there is no gone."},
		{stream.MCPServerStatus{Status: "failed", Error: "Failed to connect to MCP server"}, nil, "could not connect"},
		{stream.MCPServerStatus{Status: "failed", Error: "Connection closed"}, nil, "failed: Connection closed"},
		{stream.MCPServerStatus{Status: "connecting", Error: "again"}, nil, "connecting: again"},
	} {
		require.Equal(t, tc.want, State(tc.server, tc.problems))
	}
}
