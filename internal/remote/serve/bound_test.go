package serve

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// The client of an agent that does not read is not read either, once some MB are queued.
func TestAgentDoesNotRead(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		line := `{"jsonrpc":"2.0","method":"_x","params":{"sessionId":"s1","x":"` + strings.Repeat("x", 50<<10) + `"}}`
		var full <-chan struct{}
		sent := 0
		for ; full == nil && sent < 1000; sent++ {
			full = c.Receive([]byte(line))
			synctest.Wait()
		}
		require.NotNil(t, full)
		require.Less(t, sent, 200, "the test's agent has 100 of them")
		for range sent {
			<-a.lines
		}
		<-full
		require.Nil(t, c.Receive([]byte(line)))
		for range 2 * maxHeld / len(line) { // answered messages no longer count
			c.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[],"x":%q}}`, strings.Repeat("x", 50<<10))
			var prompt rpcMessage
			for prompt.Method != "session/prompt" {
				prompt = a.next()
			}
			a.answer(prompt, `{"stopReason":"end_turn"}`)
		}
		require.Empty(t, c.reason())
	})
}

// The queue for a session that is being opened, or for an agent that is starting, is bounded, too.
func TestQueueBehindLoadIsBounded(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.load("s1")
		a.next()
		big := `{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[],"x":"` + strings.Repeat("x", 1<<20) + `"}}`
		for i := 0; i < 2*maxHeld>>20 && c.reason() == ""; i++ {
			c.say("%s", big)
		}
		require.Equal(t, "it sent too much before it was answered", c.reason())
		synctest.Wait()

		starts := make(chan struct{})
		defer close(starts)
		early := &fakeClient{t: t}
		h.starting = starts
		early.Client = h.Join(early, ClientOptions{Role: Full})
		early.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
		for i := 0; i < 2*maxHeld>>20 && early.reason() == ""; i++ {
			early.say("%s", big)
		}
		require.Equal(t, "it sent too much before it was answered", early.reason())
	})
}

// reason returns the reason with which the client was closed.
func (c *fakeClient) reason() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}
