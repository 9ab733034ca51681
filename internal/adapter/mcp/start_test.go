package mcp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// started are servers of these names that a process starts, and that a prompt waits for.
func started(p Abilities, names ...string) *Servers {
	s := with(names...)
	s.DroidStarted(begin, p)
	s.Await(begin)
	return s
}

// told returns droid's list of its servers after it opened the session.
func told(list ...stream.MCPServerStatus) stream.MCPStatusChanged {
	return stream.MCPStatusChanged{Servers: list, Opened: true}
}

// A prompt waits until each server has connected or failed, and continues once.
func TestHoldUntilServersHaveStarted(t *testing.T) {
	s := started(newest(), "a", "b")
	require.Empty(t, s.Status(told(status("a", "connecting"), status("b", "connecting"), status("other", "connected")), nil))
	require.Empty(t, s.Status(told(status("a", "connected"), status("b", "connecting")), nil))
	require.True(t, s.Starting())
	require.Equal(t, []string{"The MCP server b failed."}, s.Status(told(status("a", "connected"), status("b", "failed")), nil))
	require.False(t, s.Starting(), "there is nothing to wait for")
	_, due := s.Due()
	require.False(t, due)
	require.Empty(t, s.Tick(begin.Add(time.Hour), true))
}

// No prompt waits where the process has no servers, or tells nothing of them.
func TestNothingToHoldFor(t *testing.T) {
	for _, s := range []*Servers{new(Servers), with(), with("a")} {
		require.False(t, s.Starting())
		_, due := s.Due()
		require.False(t, due)
	}
	s := with("a")
	s.DroidStarted(begin, Abilities{Version: newest().Version})
	require.False(t, s.Starting())
	s.DroidStarted(begin, newest())
	require.True(t, s.Starting())
	s.DroidExited()
	require.False(t, s.Starting())
}

// The wait is shown after two seconds and ends after ten.
func TestLateServers(t *testing.T) {
	s := started(newest(), "slow", "mute")
	s.Status(told(status("slow", "connecting"), status("mute", "connecting")), nil)
	at, ok := s.Due()
	require.True(t, ok)
	require.Equal(t, begin.Add(2*time.Second), at)
	require.Empty(t, s.Tick(at.Add(-1), true))
	require.Equal(t, []string{"Waiting for the MCP servers to start: slow, mute."}, s.Tick(at, true))
	at, ok = s.Due()
	require.True(t, ok)
	require.Equal(t, begin.Add(10*time.Second), at)
	require.Empty(t, s.Tick(at.Add(-1), true))
	require.True(t, s.Starting())
	texts := s.Tick(at, true)
	require.Len(t, texts, 1)
	require.Contains(t, texts[0], "These MCP servers have not answered for 10s: slow, mute.")
	require.NotContains(t, texts[0], "does not offer them")
	require.False(t, s.Starting(), "nothing waits a second time")
	_, ok = s.Due()
	require.False(t, ok)

	require.Equal(t, []string{"The MCP server slow has connected now."}, s.Status(told(status("slow", "connected"), status("mute", "connecting")), nil))
	require.Equal(t, []string{"The MCP server mute failed."}, s.Status(told(status("mute", "failed")), nil))
	require.Empty(t, s.Status(told(status("slow", "connected")), nil))
	require.False(t, s.Starting())
}

// droid ignores servers that it does not name. If it has named none since it opened the session, their state is unknown.
func TestServersThatDroidDoesNotName(t *testing.T) {
	named := []stream.MCPServerStatus{status("a", "connecting"), status("other", "connected")}
	old := Abilities{true, old()}

	s := started(old, "a", "b")
	s.Status(told(named...), nil)
	texts := s.Tick(begin.Add(10*time.Second), true)
	require.Len(t, texts, 2)
	require.Contains(t, texts[0], "ignores MCP servers that an editor passes: b.")
	require.Contains(t, texts[1], "have not answered for 10s: a.")
	require.Contains(t, texts[1], "does not offer them to the model before")
	require.False(t, s.Starting())

	s = started(old, "a", "b")
	s.Status(stream.MCPStatusChanged{Servers: named}, nil)
	s.Opened(nil)
	texts = s.Tick(begin.Add(10*time.Second), true)
	require.Len(t, texts, 1)
	require.Contains(t, texts[0], "have not answered for 10s: a, b.")

	s = started(old, "a", "b")
	s.Status(told(named...), nil) // right behind droid's response, so it is read before the session takes that
	s.Opened(nil)
	texts = s.Tick(begin.Add(10*time.Second), true)
	require.Len(t, texts, 2)
	require.Contains(t, texts[0], "ignores MCP servers that an editor passes: b.")
}

// A prompt that was cancelled while it waited is not shown the reason for the wait, and the next one takes its place.
func TestHoldAnother(t *testing.T) {
	s := started(newest(), "a")
	require.Empty(t, s.Tick(begin.Add(startQuiet), false))
	at, _ := s.Due()
	require.Equal(t, begin.Add(startTime), at, "it is not due twice")
	s.Await(begin.Add(startQuiet))
	s.Status(told(status("a", "connected")), nil)
	require.False(t, s.Starting())

	s = started(newest(), "a")
	s.Await(begin.Add(startTime - startQuiet))
	at, _ = s.Due()
	require.Equal(t, begin.Add(startTime), at, "a word so late would come with the end")
}
