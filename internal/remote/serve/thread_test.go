package serve

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// inThread is withServer with a conversation that is s1 and s2 in turn, of which a client has opened s1.
func inThread(t *testing.T, test func(t *testing.T, h *testServer, one *fakeClient, a *fakeAgent)) {
	withServer(t, func(t *testing.T, h *testServer) {
		h.Thread = func(hello AttachParams, id string) ([]string, error) {
			require.NotEmpty(t, hello.Env, "whose store it is")
			require.True(t, h.mu.TryLock(), "a disk is waited for without the lock")
			defer h.mu.Unlock()
			if id == "s1" || id == "s2" {
				return []string{"s1", "s2"}, nil
			}
			return []string{id}, nil
		}
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		test(t, h, one, a)
	})
}

// sessions returns the session IDs in what the client got since the last call, each once.
func (c *fakeClient) sessions() (ids []string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.heard {
		var m message
		require.NoError(c.t, json.Unmarshal([]byte(line), &m))
		if id, ok := m.Params["sessionId"].(string); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (c *fakeClient) asks(method, session string) {
	c.say(`{"jsonrpc":"2.0","id":"x","method":%q,"params":{"sessionId":%q,"cwd":"/w","mcpServers":[]}}`, method, session)
}

// A client that opens a conversation by another ID of its thread joins it in the agent that has it, and knows it by that ID; the others
// keep theirs.
func TestOpenByAnotherID(t *testing.T) {
	for _, method := range []string{"session/load", "session/resume"} {
		t.Run(method, func(t *testing.T) {
			inThread(t, func(t *testing.T, h *testServer, one *fakeClient, a *fakeAgent) {
				prompt := one.prompts(a, "s1", "go")
				a.chunk("s1", "before")
				two, own := h.client("Zed", everything)
				two.asks(method, "s2")
				require.Equal(t, []string{"s2"}, two.sessions(), "what was said")
				require.Contains(t, two.take(), "agent: before")
				one.take()
				a.chunk("s1", "after")
				a.asksPermission("s1")
				require.Equal(t, []string{"s1"}, one.sessions())
				require.Equal(t, []string{"s2"}, two.sessions(), "what is said and asked")
				id := two.last().ID
				two.say(`{"jsonrpc":"2.0","id":%q,"result":%s}`, id, allowed)
				require.EqualValues(t, 77, a.next().ID)
				a.answer(prompt, `{"stopReason":"end_turn"}`)
				one.take()
				two.take()
				two.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s2","prompt":[{"type":"text","text":"more"}]}}`)
				asked := a.next()
				require.Equal(t, "s1", asked.Params["sessionId"], "which the agent knows")
				require.Equal(t, []string{"s1"}, one.sessions())
				require.Equal(t, []string{"user: more"}, one.take())
				a.answer(asked, `{"stopReason":"end_turn"}`)
				require.Equal(t, []string{`p= {"stopReason":"end_turn"}`}, two.take())
				require.Len(t, h.agents(), 1)
				require.Len(t, h.Status().Sessions, 1)
				own.hearsNothing()
			})
		})
	}
}

// The agent loads it by its own ID, and the updates of the load have the client's. After a load that fails, or is refused, the client keeps
// its previous ID.
func TestLoadByAnotherID(t *testing.T) {
	inThread(t, func(t *testing.T, h *testServer, one *fakeClient, a *fakeAgent) {
		one.load("s2")
		loading := a.next()
		require.Equal(t, "s1", loading.Params["sessionId"])
		a.chunk("s1", "history")
		require.Equal(t, []string{"s2"}, one.sessions())
		a.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32602,"message":"no"}}`, loading.ID)
		one.take()
		says := func(want string) {
			t.Helper()
			a.chunk("s1", "more")
			require.Equal(t, []string{want}, one.sessions())
			one.take()
		}
		says("s1")
		prompt := one.prompts(a, "s1", "go")
		one.loads("s2", "/v", "")
		require.Contains(t, one.take()[0], "l! The session cannot be opened: a prompt runs in it")
		says("s1")
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		one.take()
		one.load("s2")
		a.answer(a.next(), `{}`)
		one.take()
		says("s2")
		one.load("s1")
		a.answer(a.next(), `{}`)
		one.take()
		says("s1")
	})
}

// Other methods accept any of the open conversation's IDs.
func TestMethodsByAnotherID(t *testing.T) {
	const shut = "x! The session could not be deleted: deleting session s1: it is open in another window or program of yours; close it there first"
	inThread(t, func(t *testing.T, h *testServer, one *fakeClient, a *fakeAgent) {
		two, own := h.client("Emacs", everything)
		two.asks("session/delete", "s2")
		require.Equal(t, []string{shut}, two.take())
		own.hearsNothing()
		one.asks("session/fork", "s2")
		a.answer(a.next(), `{"sessionId":"s3"}`)
		one.take()
		one.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s2","prompt":[]}}`)
		one.say(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s2"}}`)
		prompt := a.next()
		require.Equal(t, "s1", prompt.Params["sessionId"])
		require.Equal(t, "s1", a.next().Params["sessionId"])
		a.chunk("s1", "more")
		require.Equal(t, []string{"s1"}, one.sessions(), "by which it has opened it")
		a.answer(prompt, `{"stopReason":"cancelled"}`)
		one.take()
		one.asks("session/delete", "s2")
		deleting := a.next()
		require.Equal(t, "session/delete", deleting.Method)
		require.Equal(t, "s1", deleting.Params["sessionId"])
		a.answer(deleting, `{}`)
		require.Equal(t, []string{"x= {}"}, one.take())
		two.load("s2")
		require.Equal(t, "s2", a.next().Params["sessionId"], "it is open nowhere")
	})
}

// A load by another ID waits for the close before it, and then opens that session.
func TestLoadByAnotherIDBehindAClose(t *testing.T) {
	inThread(t, func(t *testing.T, h *testServer, one *fakeClient, a *fakeAgent) {
		one.asks("session/close", "s1")
		one.load("s2")
		a.closes("s1")
		loading := a.next()
		require.Equal(t, "s2", loading.Params["sessionId"])
		a.chunk("s2", "history")
		require.Equal(t, []string{"s2"}, one.sessions())
		a.answer(loading, `{}`)
		require.Equal(t, "s2", h.Status().Sessions[0].ID)
	})
}

// If an ID's conversation cannot be determined, nothing is done.
func TestUnknownThread(t *testing.T) {
	inThread(t, func(t *testing.T, h *testServer, one *fakeClient, a *fakeAgent) {
		h.Thread = func(AttachParams, string) ([]string, error) { return nil, errors.New("the disk is gone; plug it in") }
		two, own := h.client("Emacs", everything)
		two.load("s2")
		require.Equal(t, []string{"l! Not done: the disk is gone; plug it in"}, two.take())
		two.say(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s2"}}`)
		own.hearsNothing()
		two.load("s1")
		require.Len(t, two.take(), 1, "which is open")
	})
}
