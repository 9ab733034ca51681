package session_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/testing/acptest"
)

// hostile has what a title must not send to the screen.
const hostile = "\x1b[2K\x1b[1A\r\u202e\u009b1A\u200b\nsecond"

// TestErrorsAreSafe: an error may quote the text of others.
func TestErrorsAreSafe(t *testing.T) {
	for _, err := range []*jsonrpc.Error{acperr.Internal("kind", hostile), acperr.InvalidParams("%s", hostile)} {
		requireSafe(t, err.Message, false)
		require.Contains(t, err.Message, "second")
	}
	requireSafe(t, encoded(t, acperr.Internal("kind", hostile).Data), true)
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		for _, method := range []string{hostile, "_droid/" + hostile} {
			e.send(`{"jsonrpc":"2.0","id":"m","method":` + encoded(t, method) + `,"params":{}}`)
			answer := e.await(`"m"`)
			require.NotNil(t, answer.Error)
			requireSafe(t, encoded(t, answer.Error), false)
		}
		answer := e.call("session/set_mode", `{"sessionId":`+encoded(t, hostile)+`,"modeId":`+encoded(t, hostile)+`}`)
		requireSafe(t, encoded(t, answer.Error), false)
		answer = e.call("session/set_mode", `{"sessionId":"`+e.session+`","modeId":`+encoded(t, hostile)+`}`)
		requireSafe(t, encoded(t, answer.Error), false)
	})
}

// TestTextsOfTheModelStayAsTheyAre: they are not for us to change.
func TestTextsOfTheModelStayAsTheyAre(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(says("Answer"+hostile)))
		require.Equal(t, "end_turn", e.run("go"))
		require.Contains(t, e.updates(), "agent: Answer"+hostile)
	})
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

func requireSafe(t *testing.T, shown string, lines bool) {
	t.Helper()
	require.NoError(t, acptest.CheckSafe(shown, lines))
}
