package adapter

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"droid-acp/internal/fakedroid"
)

// TestLogOfSessions: each that is opened or ends is told once, by its id.
func TestLogOfSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		e := openLogging(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Say("", "Hello.") })), zap.New(core))
		require.Nil(t, e.call("initialize", `{"protocolVersion":1,`+asZed+`}`).Error)
		e.beginSession()
		require.Equal(t, "end_turn", e.run("hello"))
		require.Nil(t, e.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[]}`, e.session)).Error)
		require.Nil(t, e.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error)
		e.close()
		<-e.served
		var told []string
		for _, l := range logs.All() {
			if l.Message != "droid speaks" {
				told = append(told, fmt.Sprint(l.Message, " ", l.ContextMap()["session"]))
			}
		}
		require.Equal(t, []string{"a client has connected <nil>", "session opened " + e.session, "turn ended " + e.session, "session opened " + e.session, "session ended " + e.session}, told)
	})
}
