package serve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func (c *fakeClient) operates(id, operation, text string) {
	c.say(`{"jsonrpc":"2.0","id":%q,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":%q}],"_meta":{"droid-acp":{"operationId":%q}}}}`, id, text, operation)
}

// A prompt that is sent again with its operationId runs once: each request gets the result, also of another connection and after the turn.
func TestOperationRunsOnce(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		one.operates("p1", "op", "Say hello.")
		asked := a.next()
		a.works("s1", true)
		one.Disconnected()
		two, _ := h.client("Zed", everything)
		two.load("s1")
		two.take()
		two.operates("p2", "op", "Say hello.")
		two.operates("p3", "op", "Say goodbye.")
		require.Equal(t, []string{"p3! Not done: this operationId was used for another prompt in this session. Use a new one."}, two.take())
		a.hearsNothing()
		a.answer(asked, `{"stopReason":"end_turn"}`)
		a.works("s1", false)
		require.Contains(t, two.take(), `p2= {"stopReason":"end_turn"}`)
		two.operates("p4", "op", "Say hello.")
		require.Equal(t, []string{`p4= {"stopReason":"end_turn"}`}, two.take())
		a.hearsNothing()
		two.operates("p5", "op2", "Say hello.")
		require.Equal(t, "session/prompt", a.next().Method)
		two.operates("p6", "op2", "Say hello.")
		a.exit()
		got := strings.Join(two.take(), "\n")
		require.Contains(t, got, "p5! The agent of this session has ended")
		require.Contains(t, got, "p6! The agent of this session has ended")
	})
}

// The memory of operations is bounded; one that runs is not forgotten.
func TestOperationsAreBounded(t *testing.T) {
	var o session
	params := func(id string) []byte { return fmt.Appendf(nil, `{"_meta":{"droid-acp":{"operationId":%q}}}`, id) }
	running := o.beginOperation(params("running"))
	for i := range 2 * maxOperations {
		o.endOperation(o.beginOperation(params(fmt.Sprint(i))), []byte(`{"id":1,"result":{}}`))
	}
	require.Len(t, o.operations, maxOperations)
	require.Contains(t, o.operations, running)
	require.Nil(t, o.beginOperation([]byte(`{}`)))
}
