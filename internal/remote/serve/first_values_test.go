package serve

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who joins a session with first values has them before the answer, and all who see it; a value that the agent refuses is dropped.
func TestFirstValuesOfAJoin(t *testing.T) {
	const options = `[{"id":"model","category":"model","type":"select","currentValue":%q}]`
	join := func(c *fakeClient, values string) {
		c.say(`{"jsonrpc":"2.0","id":"l","method":"session/load","params":{"sessionId":"s1","cwd":"/w","mcpServers":[],"configOptions":%s}}`, values)
	}
	inHouse(t, func(t *testing.T, h *house) {
		one, a := h.client("zed", "{}")
		one.load("s1")
		a.answer(a.next(), `{"configOptions":`+fmt.Sprintf(options, "m1")+`}`)
		one.take()
		two, _ := h.client("zed", "{}")
		join(two, `[{"configId":"speed","value":"fast"},{"configId":"model","value":"m2"}]`)
		two.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`)
		refused := a.next()
		require.Equal(t, "session/set_config_option", refused.Method)
		require.Equal(t, "speed", refused.Params["configId"])
		require.Empty(t, two.take(), "it waits")
		a.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32602,"message":"unknown"}}`, refused.ID)
		set := a.next()
		require.Equal(t, "m2", set.Params["value"])
		a.answer(set, `{"configOptions":`+fmt.Sprintf(options, "m2")+`}`)
		require.Contains(t, fmt.Sprint(two.take()), `"currentValue":"m2"`)
		require.Contains(t, fmt.Sprint(one.updates()), `"currentValue":"m2"`)
		prompt := a.next()
		require.Equal(t, "session/prompt", prompt.Method, "behind the answer")

		three, _ := h.client("zed", "{}")
		a.works("s1", true)
		join(three, `[{"configId":"model","value":"m3"}]`)
		a.hearsNothing()
		require.Contains(t, fmt.Sprint(three.take()), `"currentValue":"m2"`, "the session works")
		four, _ := h.client("zed", "{}")
		join(four, `[{"configId":"model","type":"number","value":3}]`)
		require.Contains(t, fmt.Sprint(four.take()), "does not know")
	})
}
