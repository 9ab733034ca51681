package serve

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A hung agent ends by force at once, and with it what it runs; its clients learn so.
func TestKillAgent(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		a.stubborn = true
		c.prompts(a, "s1", "Say hello.")
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := h.End(ctx, "s1")
		require.ErrorContains(t, err, "after 1m the agent of session s1 has not ended it; <stop --force s1> ends the agent, and its other sessions with it")
		require.Equal(t, time.Minute, time.Since(begin))
		require.ErrorContains(t, h.Kill(t.Context(), "s9"), "no session s9 is open here")
		begin = time.Now()
		require.NoError(t, h.Kill(t.Context(), "s1"))
		require.Less(t, time.Since(begin), 5*time.Second)
		require.Empty(t, h.Status().Sessions)
		got := strings.Join(c.take(), "\n")
		require.Contains(t, got, "ended by force")
		require.Contains(t, got, "p! The agent of this session has ended")
	})
}

// An agent's output is closed when it has ended, or a server that runs for months loses a descriptor with each of them.
func TestAgentOutputIsClosed(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		a.exit()
		synctest.Wait()
		_, err := a.stdout.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.ErrClosedPipe)
	})
}

// A server that drains accepts no new session, lets clients go on in open ones, and is done when nothing works. At the end of its time it
// accepts sessions again.
func TestDrain(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		asked := c.prompts(a, "s1", "Say hello.")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		drained := make(chan error, 1)
		go func() { drained <- h.Drain(ctx) }()
		synctest.Wait()
		require.True(t, h.Status().Draining)
		other, _ := h.client("Zed", everything)
		other.asksNew()
		require.Contains(t, strings.Join(other.take(), "\n"), "n! Not opened: this server ends when nothing works in it")
		other.load("s2")
		require.Contains(t, strings.Join(other.take(), "\n"), "l! Not opened: this server ends when nothing works in it")
		other.load("s1")
		require.Contains(t, strings.Join(other.take(), "\n"), "l= ", "it joins")
		time.Sleep(time.Hour)
		require.EqualError(t, <-drained, "after 1h 1 sessions still work, so the server goes on; <ps> shows them")
		require.False(t, h.Status().Draining)

		go func() { drained <- h.Drain(t.Context()) }()
		synctest.Wait()
		a.asksPermission("s1")
		a.answer(asked, `{"stopReason":"end_turn"}`)
		a.works("s1", false)
		require.Empty(t, drained, "a question is open")
		c.say(`{"jsonrpc":"2.0","id":%q,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}`, h.onlyQuestion())
		require.NoError(t, <-drained)
		other.asksNew()
		require.Contains(t, strings.Join(other.take(), "\n"), "n! Not opened", "it ends")
	})
}

// onlyQuestion returns the ID of the open question.
func (h *testServer) onlyQuestion() (id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Len(h.t, h.questions, 1)
	for id = range h.questions {
	}
	return id
}
