package session_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

// Air copies a session up to and including a message of the agent; the session stays unchanged. The _meta of other clients is ignored.
func TestForkPointForAir(t *testing.T) {
	for _, isOpen := range []bool{true, false} {
		for _, isAir := range []bool{true, false} {
			t.Run(fmt.Sprint(isOpen, isAir), func(t *testing.T) {
				versions(t, func(t *testing.T, v fakedroid.Option) {
					f, root := newFleet(t, v, repeats()), filepath.Join(t.TempDir(), "sessions")
					f.rewinds()
					e := open(t, f.start)
					e.agent.Config.Store = store.New(root, zap.NewNop())
					capabilities := map[bool]string{true: asAir, false: "{}"}[isAir]
					require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`,`+asZed+`}`).Error)
					e.beginSession()
					require.Equal(t, "end_turn", e.run("one"))
					require.Equal(t, "end_turn", e.run("two"))
					var messages session.MessagesResult
					require.NoError(t, json.Unmarshal(e.call("_droid/messages", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Result, &messages))
					said := map[string]string{}
					for _, m := range messages.Messages {
						if m.Role == "assistant" {
							said[string(m.Content[0])] = m.ID
						}
					}
					id := said[`{"type":"text","text":"re: one"}`]
					require.NotEmpty(t, id, "%v", said)
					if !isOpen {
						require.Nil(t, e.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error)
					}
					fork := func(point string) wireMessage {
						return e.call("session/fork", fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[],"_meta":{"jetbrains":{"air":{"fork":%s}}}}`, e.session, point))
					}
					copied := e.sessionOf(fork(fmt.Sprintf(`{"version":1,"messageId":%q}`, id)))
					require.NotEqual(t, e.session, copied)
					require.Nil(t, e.call("session/load", sessionParamsOf(copied)).Error)
					require.Contains(t, e.of(copied), "agent: re: one")
					require.Equal(t, !isAir, strings.Contains(strings.Join(e.of(copied), "\n"), "two"))
					if isAir {
						require.Equal(t, -32602, fork(`{"version":1,"messageId":"no-such"}`).Error.Code)
						require.Equal(t, -32602, fork(`7`).Error.Code)
					}
					require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
					require.Contains(t, e.of(e.session), "agent: re: two")
				})
			})
		}
	}
}
