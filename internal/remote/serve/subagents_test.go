package serve

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Updates of subagents reach clients that declare them: live, from the journal, and after an announcement; others get none, but get
// permission requests as those of the session.
func TestSubagentsOfASession(t *testing.T) {
	const declares = `{"subagents":{}}`
	raw := func(c *fakeClient) string {
		c.mu.Lock()
		defer c.mu.Unlock()
		all := strings.Join(c.heard, "\n")
		c.heard = nil
		return all
	}
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("zed", declares)
		one.load("s1")
		loading := a.next()
		a.answer(loading, `{}`)
		raw(one)
		two, _ := h.client("zed", "{}")
		two.load("s1")
		require.NotContains(t, raw(two), "c1")
		say := func(session, update string) {
			a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":%s}}`, session, update)
		}
		say("s1", `{"sessionUpdate":"subagent_update","sessionId":"c1","title":"worker","state":{"state":"running"}}`)
		a.chunk("c1", "found it")
		say("c1", `{"sessionUpdate":"subagent_update","sessionId":"c2","title":"nested","state":{"state":"running"}}`)
		a.chunk("c2", "deeper")
		a.chunk("s1", "droid")
		a.asks("c1", `"toolCall":{"toolCallId":"c1.t","title":"make"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]`)
		heard := raw(one)
		for _, text := range []string{`"title":"worker"`, `"sessionId":"c1","update":{"sessionUpdate":"agent_message_chunk"`, "deeper", "droid", `"method":"session/request_permission","params":{"sessionId":"c1"`} {
			require.Contains(t, heard, text)
		}
		heard = raw(two)
		require.Contains(t, heard, "droid")
		require.Contains(t, heard, "request_permission")
		require.Contains(t, heard, `"sessionId":"s1"`)
		for _, text := range []string{"subagent_update", "found it", "deeper", `"sessionId":"c1"`} {
			require.NotContains(t, heard, text)
		}

		three, _ := h.client("zed", declares)
		three.load("s1")
		heard = raw(three)
		require.Less(t, strings.Index(heard, `"title":"worker"`), strings.Index(heard, "found it"))
		require.Contains(t, heard, "deeper")
		four, _ := h.client("zed", "{}")
		four.load("s1")
		heard = raw(four)
		require.Contains(t, heard, "droid")
		for _, text := range []string{"subagent_update", "found it", "deeper", `"sessionId":"c1"`} {
			require.NotContains(t, heard, text, "from the journal")
		}

		air, _ := h.client("zed", `{"subagents":{},"_meta":{"jetbrains":{"air":{"version":1,"capabilities":[]}}}}`)
		air.load("s1")
		for _, text := range []string{"subagent_update", "found it", `"sessionId":"c1"`} {
			require.NotContains(t, raw(air), text, "it takes another form")
		}

		say("c1", `{"sessionUpdate":"subagent_update","sessionId":"c2","state":{"state":"idle"}}`)
		five, _ := h.client("zed", declares)
		five.say(`{"jsonrpc":"2.0","id":"r","method":"session/resume","params":{"sessionId":"s1","cwd":"/w","mcpServers":[]}}`)
		heard = raw(five)
		require.Contains(t, heard, `"title":"worker"`, "it is announced before anything of it")
		require.NotContains(t, heard, `"title":"nested"`, "it rests")
		require.NotContains(t, heard, "found it")
		a.chunk("c1", "more")
		require.Contains(t, raw(five), "more")
	})
}

// A subagent's text is not part of an unfinished turn.
func TestUnfinishedTurnWithASubagent(t *testing.T) {
	turn := openTurn{session: "s1"}
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"user_message_chunk","messageId":"p","content":{"type":"text","text":"go"},"_meta":{"droid-acp":{"client":"Zed"}}}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"c1","update":{"sessionUpdate":"agent_message_chunk","messageId":"x","content":{"type":"text","text":"of the subagent"}}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"of droid"}}}}`,
	} {
		turn.add([]byte(line + "\n"))
	}
	require.Equal(t, []string{"> go", "of droid"}, turn.missingFrom(nil))
}
