package serve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Fields that an agent sends for Air reach no other client, in any way. The end of a replay is marked once, after all of it, for each
// client that loads.
func TestAirAmongOthers(t *testing.T) {
	const air = `{"_meta":{"jetbrains":{"air":{"version":1,"capabilities":["loadReplayEnd"]}}}}`
	const mark = `{"sessionUpdate":"session_info_update","_meta":{"jetbrains":{"air":{"version":1,"loadReplayEnd":true}}}}`
	const modes = `"modes":{"currentModeId":"spec","availableModes":[{"id":"spec","name":"Spec","_meta":{"jetbrains":{"air":{"kind":"plan"}}}}]}`
	raw := func(c *fakeClient) string {
		c.mu.Lock()
		defer c.mu.Unlock()
		all := strings.Join(c.heard, "\n")
		c.heard = nil
		return all
	}
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("air", air)
		one.load("s1")
		loading := a.next()
		a.chunk("s1", "hello")
		a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":%s}}`, mark)
		a.answer(loading, `{`+modes+`}`)
		heard := raw(one)
		require.Equal(t, 1, strings.Count(heard, "loadReplayEnd"))
		require.Contains(t, heard, `"kind":"plan"`)

		two, _ := h.client("air", air)
		two.load("s1")
		a.chunk("s1", "more")
		heard = raw(two)
		require.Equal(t, 1, strings.Count(heard, "loadReplayEnd"), heard)
		require.Less(t, strings.Index(heard, "hello"), strings.Index(heard, "loadReplayEnd"))
		require.Less(t, strings.Index(heard, "loadReplayEnd"), strings.Index(heard, `"kind":"plan"`), "the response is next")

		three, _ := h.client("zed", `{"elicitation":{"form":{}}}`)
		three.load("s1")
		a.asks("s1", `"toolCall":{"toolCallId":"t","title":"<make>"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}],"_meta":{"x":12345678901234567890,"jetbrains":{"air":{"permission":{"version":1}}}}`)
		heard = raw(three)
		require.Contains(t, heard, "hello")
		require.Contains(t, heard, `"availableModes"`)
		require.Contains(t, heard, "request_permission")
		require.Contains(t, heard, "12345678901234567890")
		require.NotContains(t, heard, "jetbrains")
		require.NotContains(t, heard, "loadReplayEnd")
		require.Contains(t, raw(one), `"permission":{"version":1}`)
	})
}

// The methods of Air's index do at the server what those of ACP do, also in an agent of a client that has none. Who has not declared the
// index gets an agent's answer, and changes nothing.
func TestSessionIndexOfAir(t *testing.T) {
	const air = `{"_meta":{"jetbrains":{"air":{"version":1,"capabilities":["sessionIndex"]}}}}`
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, own := h.client("air", air)
		two.asks("_session/rename", "s1")
		renaming := a.next()
		require.Equal(t, "session/set_title", renaming.Method)
		require.Equal(t, "s1", renaming.Params["sessionId"])
		a.answer(renaming, `{}`)
		two.say(`{"jsonrpc":"2.0","id":"x","Method":"_session/archive","params":{"sessionId":"s1"}}`)
		archiving := a.next()
		require.Equal(t, "session/archive", archiving.Method)
		two.load("s1")
		a.hearsNothing()
		own.hearsNothing()
		a.answer(archiving, `{}`)
		require.Contains(t, strings.Join(one.take(), "\n"), "air has archived this session")
		require.Empty(t, h.Status().Sessions[0].Clients)
		require.Contains(t, two.take(), "x= {}")
		loaded := h.agents()[1]
		require.Equal(t, "session/load", loaded.next().Method, "which waited for it")

		three, _ := h.client("Vim", everything)
		three.say(`{"jsonrpc":"2.0","id":"b","method":"_session/batch_get","params":{"sessionIds":["s1"]}}`)
		require.Equal(t, "_session/batch_get", h.lastQueryAgent().next().Method)
		require.Len(t, h.agents(), 2, "it needs no agent that opens sessions")
		for _, a := range h.all() {
			require.Contains(t, fmt.Sprint(a.greeted().Params["clientCapabilities"]), "droid-acp:map[activity:true", "each agent learns that it has a server")
		}
	})
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, _ := h.client("Emacs", everything)
		two.load("s1")
		two.take()
		for _, method := range []string{"_session/archive", "_session/rename"} {
			two.asks(method, "s1")
			own := h.lastQueryAgent()
			asked := own.next()
			require.Equal(t, method, asked.Method)
			own.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32601,"message":"no"}}`, asked.ID)
			require.Equal(t, []string{"x! no"}, two.take())
			a.hearsNothing()
		}
		require.Len(t, h.Status().Sessions[0].Clients, 2)
	})
}
