package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Work without a prompt, such as a steered turn or a background command, continues like a turn, whoever connects or leaves. The agent's
// reports about it go to no client.
func TestWorkWithoutAPrompt(t *testing.T) {
	const running = "something runs in it, which no window shows; open the session and stop that, or end it where the server runs: <stop s1>"
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		a.works("s1", true)
		require.Empty(t, one.take())
		require.Equal(t, Running, h.Status().Sessions[0].State)
		one.Disconnected()
		two, own := h.client("Emacs", everything)
		two.say(`{"jsonrpc":"2.0","id":"d","method":"session/delete","params":{"sessionId":"s1"}}`)
		require.Equal(t, []string{"d! The session could not be deleted: deleting session s1: " + running}, two.take())
		a.hearsNothing()
		time.Sleep(24 * time.Hour)
		a.chunk("s1", "done")
		two.load("s1")
		require.Equal(t, []string{"agent: done", `l= {"modes":{"currentModeId":"off","availableModes":[]}}`}, two.take())
		a.hearsNothing()
		own.hearsNothing()
		a.works("s1", false)
		require.Equal(t, Idle, h.Status().Sessions[0].State)
		two.Disconnected()
		time.Sleep(5 * time.Minute)
		a.closes("s1")
		<-a.exited
	})
}

// A steering message is shown to the other clients once the agent has taken it.
func TestSteeringOfAnotherClient(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, _ := h.client("Zed", everything)
		two.load("s1")
		two.take()
		for outcome, want := range map[string][]string{"injected": {"user: also this"}, "startedNewTurn": {"user: also this"}, "promptRequired": nil} {
			one.say(`{"jsonrpc":"2.0","id":"s","method":"_session/steering","params":{"sessionId":"s1","prompt":[{"type":"text","text":"also this"}]}}`)
			a.answer(a.next(), `{"outcome":"`+outcome+`"}`)
			require.Equal(t, want, two.take(), outcome)
			require.Equal(t, []string{`s= {"outcome":"` + outcome + `"}`}, one.take())
		}
		one.say(`{"jsonrpc":"2.0","id":"s","method":"_session/steering","params":{"sessionId":"s1","prompt":[]}}`)
		a.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-1,"message":"no"}}`, a.next().ID)
		require.Empty(t, two.take())
	})
}

// A session that is being loaded when its idle time ends is not closed.
func TestLoadAtTheEndOfARest(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		a.answer(one.prompts(a, "s1", "go"), `{"stopReason":"end_turn"}`)
		one.Disconnected()
		time.Sleep(h.KeepIdle - time.Second)
		two, _ := h.client("Zed", everything)
		two.loads("s1", "/v", "")
		loading := a.next()
		require.Equal(t, "session/load", loading.Method)
		time.Sleep(2 * time.Second)
		a.hearsNothing()
		a.answer(loading, `{}`)
		require.Equal(t, []string{"l= {}"}, two.take())
		time.Sleep(h.KeepIdle)
		a.hearsNothing()
		two.Disconnected()
		time.Sleep(h.KeepIdle)
		a.closes("s1")
	})
}
