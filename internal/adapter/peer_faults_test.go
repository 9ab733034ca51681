package adapter

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// TestRequestsWithoutAnID: only what ACP defines as a notification has an effect without
// an id. Such a message never got an answer, and its handler waited for ever; so did all
// that the editor sent behind it, and the end of its input.
func TestRequestsWithoutAnID(t *testing.T) {
	for method, params := range map[string]string{
		"session/prompt":  `{"sessionId":%q,"prompt":[{"type":"text","text":"hi"}]}`,
		"authenticate":    `{"methodId":"device-pairing"}`,
		"session/new":     `{"cwd":"/workspace","mcpServers":[]}`,
		"session/close":   `{"sessionId":%q}`,
		"_droid/state":    `{"sessionId":%q}`,
		"session/juggle":  `{}`,
		"_other/whatever": `{}`,
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Silence() })))
				if strings.Contains(params, "%q") {
					params = fmt.Sprintf(params, e.session)
				}
				before := len(e.received())
				e.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
				require.Nil(t, e.call("_droid/state", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error, "the session is as it was")
				// the answer alone
				require.Len(t, e.received(), before+1)
				prompt := e.prompt("go")
				e.cancel()
				require.Equal(t, "cancelled", ended(e.await(prompt)))
				_ = e.in.Close()
				<-e.served
			})
		})
	}
}

// TestEndBehindUnreadAnswers: the end of the input is noticed behind 7,000 requests whose
// answers nobody reads.
func TestEndBehindUnreadAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := connect(t, playing(says("hello")))
		e.out.pause()
		for i := range 7000 {
			_, err := fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":"x%d","method":"session/juggle"}`+"\n", i)
			require.NoError(t, err)
		}
		_ = e.in.Close()
		select {
		case <-e.served:
		case <-time.After(time.Minute):
			require.Fail(t, "the agent outlives its editor")
		}
		e.out.resume()
	})
}

// TestMessagesWithoutAMethodAreNotAnswered: Toad answers an update that it does not know
// with an error whose id is null. Two peers that answer such an answer would never end.
func TestMessagesWithoutAMethodAreNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := connect(t, playing(says("hello")))
		before := len(e.received())
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Invalid params"}}`,
			`{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params"}}`,
			`{"jsonrpc":"2.0","id":77,"result":{}}`,
			`[{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Invalid params"}}]`,
		} {
			_, err := io.WriteString(e.in, line+"\n")
			require.NoError(t, err)
		}
		require.Len(t, e.received(), before)
	})
}
