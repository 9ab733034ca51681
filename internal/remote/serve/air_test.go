package serve

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What an agent says to Air alone reaches nobody else, whichever way it takes. The end of a replay is marked once, behind all of it, for each
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
