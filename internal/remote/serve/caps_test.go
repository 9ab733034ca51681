package serve

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func (c *fakeClient) asksNew() {
	c.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
}

// A token has at most so many open sessions, in all connections together; what is being opened counts. A local client has no token.
func TestSessionsOfATokenAreCapped(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		h.MaxSessions = 2
		one, a := h.clientOf("Zed", everything, ClientOptions{Role: Full, Token: "anna"})
		one.opens(a, "s1")
		two, _ := h.clientOf("Zed", everything, ClientOptions{Role: Full, Token: "anna"})
		one.asksNew()
		opening := a.next()
		two.asksNew()
		const refusal = `n! Not opened: the token anna has 2 sessions open, and the server allows it no more. Close one, or have --max-sessions raised.`
		require.Equal(t, []string{refusal}, two.take())
		a.answer(opening, `{"sessionId":"s2"}`)
		two.load("s9")
		require.Len(t, two.take(), 1)
		a.hearsNothing()
		two.load("s1")
		require.NotContains(t, strings.Join(two.take(), "\n"), "Not opened", "it is open")

		other, _ := h.clientOf("Zed", everything, ClientOptions{Role: Full, Token: "maria"})
		other.asksNew()
		a.answer(a.next(), `{"sessionId":"s3"}`)
		local, _ := h.client("Zed", everything)
		local.asksNew()
		a.answer(a.next(), `{"sessionId":"s4"}`)

		one.say(`{"jsonrpc":"2.0","id":"c","method":"session/close","params":{"sessionId":"s2"}}`)
		a.answer(a.next(), `{}`)
		two.asksNew()
		require.Equal(t, "session/new", a.next().Method)
	})
}

// Where the agents use as much memory as allowed, no session is opened; open ones can be joined.
func TestMemoryIsCapped(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		used := int64(100 << 20)
		h.MaxMemory, h.Memory = 200<<20, func(processes []int) (int64, error) { return used * int64(len(processes)), nil }
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		one.opens(a, "s2")
		used = 200 << 20
		const refusal = "Not opened: the agents use 200 MiB of memory, and the server opens no session from 200 MiB on. Close a session, or have --max-memory raised."
		one.asksNew()
		require.Equal(t, []string{"n! " + refusal}, one.take())
		one.load("s9")
		require.Equal(t, []string{"l! " + refusal}, one.take())
		a.hearsNothing()
		two, _ := h.client("Zed", everything)
		two.load("s1")
		require.Contains(t, fmt.Sprint(two.take()), "l= ", "it joins")
		h.Memory = func([]int) (int64, error) { return 0, errors.New("no /proc") }
		one.asksNew()
		require.Equal(t, []string{"n! " + refusal}, one.take(), "the last value holds")
		h.Memory = func([]int) (int64, error) { return 0, nil }
		one.opens(a, "s3")
	})
}

// Of agents at most so many run, also while they end; clients share those that run.
func TestAgentsAreCapped(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		h.MaxAgents = 1
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		same, _ := h.client("Zed", everything)
		same.opens(a, "s2")
		other, b := h.client("Zed", "{}")
		other.asksNew()
		require.Equal(t, []string{"n! Not opened: the server runs 1 agents, and is allowed no more. Close a session, or have --max-agents raised."}, other.take())
		other.load("s1")
		require.Contains(t, fmt.Sprint(other.take()), "l= ", "it joins")
		require.Len(t, h.agents(), 1)
		a.exit()
		other.take()
		other.opens(b, "s3")
	})
}
