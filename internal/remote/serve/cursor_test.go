package serve

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// cursors adds a client that uses cursors, with an ID of its own.
func (h *testServer) cursors(id string) (*fakeClient, *fakeAgent) {
	c := &fakeClient{t: h.t, house: h, own: newFakeAgent(h.t, AttachParams{})}
	h.t.Cleanup(c.own.exit)
	c.Client = h.Join(c, ClientOptions{})
	c.role = Full
	c.say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"Zed","version":"1"},"clientCapabilities":%s,"_meta":{"droid-acp":{"clientId":%q}}}}`, everything, id)
	require.Equal(h.t, []string{`i= {"_meta":{"droid-acp":{"cursors":true}},"protocolVersion":1}`}, c.take())
	return c, c.own
}

// cursor returns the last cursor that the client got, as JSON.
func (c *fakeClient) cursor() (last string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.heard {
		var m struct {
			Params, Result struct {
				Meta json.RawMessage `json:"_meta"`
			}
		}
		require.NoError(c.t, json.Unmarshal([]byte(line), &m))
		for _, meta := range []json.RawMessage{m.Params.Meta, m.Result.Meta} {
			var own struct {
				At *cursor `json:"droid-acp"`
			}
			if meta != nil && json.Unmarshal(meta, &own) == nil && own.At != nil && own.At.Epoch != "" {
				text, _ := json.Marshal(own.At)
				last = string(text)
			}
		}
	}
	return last
}

func (c *fakeClient) loadAfter(session, cursor string) {
	c.say(`{"jsonrpc":"2.0","id":"l","method":"session/load","params":{"sessionId":%q,"cwd":"/w","mcpServers":[],"_meta":{"droid-acp":{"after":%s}}}}`, session, cursor)
}

// A client that comes back gets what it has missed, once, and nothing that it has sent itself; then the open questions, and the answer.
func TestLoadAfter(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.cursors("me")
		other, _ := h.client("Zed", everything)
		one.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		a.answer(a.next(), `{"sessionId":"s1"}`)
		first := one.cursor()
		require.NotEmpty(t, first)
		other.load("s1")
		one.operates("p", "op", "go")
		a.next()
		a.works("s1", true)
		a.chunk("s1", "one")
		seen := one.cursor()
		one.take()
		one.Disconnected()
		a.chunk("s1", "two")
		a.asksPermission("s1")

		again, _ := h.cursors("me")
		again.loadAfter("s1", seen)
		got := again.take()
		require.Len(t, got, 3)
		require.Equal(t, "agent: two", got[0])
		require.Contains(t, got[1], "request_permission")
		require.Contains(t, got[2], "l= ")
		again.Disconnected()
		again, _ = h.cursors("me")
		again.loadAfter("s1", first)
		require.Equal(t, []string{"agent: one", "agent: two"}, again.take()[:2], "its own prompt is not sent to it")
		a.chunk("s1", "three")
		require.Contains(t, again.cursor(), `"line":`)
		require.NotContains(t, strings.Join(other.heard, ""), "epoch", "which has not asked for cursors")
		require.NotContains(t, strings.Join(other.heard, ""), exceptMember)

		stranger, _ := h.cursors("another")
		stranger.loadAfter("s1", first)
		require.Equal(t, "user: go", stranger.take()[0])
	})
}

// A place that the server does not have is refused, and nothing is shown.
func TestLoadAfterUnknown(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.cursors("me")
		one.opens(a, "s1")
		prompt := one.prompts(a, "s1", "go")
		a.chunk("s1", "one")
		seen := one.cursor()
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		a.works("s1", false)
		one.take()
		for _, after := range []string{`{"epoch":"x","line":0}`, strings.Replace(seen, `"line":`, `"line":9`, 1), strings.Replace(seen, `"line":`, `"line":-`, 1), `7`} {
			one.loadAfter("s1", after)
			require.Len(t, one.heard, 1)
			require.Contains(t, one.heard[0], `"kind":"cursor_unknown"`, after)
			one.take()
		}
		one.loadAfter("s2", seen)
		require.Contains(t, one.heard[0], `"kind":"cursor_unknown"`, "no such session is open")
		one.take()
		a.hearsNothing()
		one.loadAfter("s1", seen)
		require.Contains(t, strings.Join(one.take(), "\n"), "l= ", "no agent loads it anew")
		a.hearsNothing()

		one.load("s1")
		a.answer(a.next(), `{}`)
		one.take()
		one.loadAfter("s1", seen)
		require.Contains(t, one.heard[0], `"kind":"cursor_unknown"`, "the journal is another one")
		one.take()
	})
}

// A client that drops updates outside its own prompts gets what it has missed with its prompt, sent again.
func TestLoadAfterOutsidePrompt(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.cursors("me")
		one.opens(a, "s1")
		one.operates("p", "op", "go")
		a.next()
		a.works("s1", true)
		a.chunk("s1", "one")
		seen := one.cursor()
		one.Disconnected()
		a.chunk("s1", "two")
		again, _ := h.cursors("me")
		again.caps.IgnoresUpdatesOutsidePrompt = true
		again.loadAfter("s1", seen)
		require.Equal(t, seen, again.cursor(), "it has still missed what comes after")
		require.Len(t, again.take(), 1)
		again.operates("p2", "op", "go")
		require.Equal(t, []string{"agent: two"}, again.take())
		a.hearsNothing()
	})
}
