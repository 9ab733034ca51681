package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// TestRequestsWithoutAnID checks that only the notifications that ACP defines have an effect without an id. Such a request could never be
// answered, so its handler waited forever, and with it all later messages of the editor and the end of its input.
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
