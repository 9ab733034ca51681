package adapter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
)

func TestPromptBehind(t *testing.T) {
	var messages []stream.Message
	for _, m := range []string{"user u1 hi", "assistant a1 same", "assistant a2 more", "user u2 go", "assistant a3 same", "user u3 on"} {
		fields := strings.Fields(m)
		var one stream.Message
		require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"role":%q,"id":%q,"content":[{"type":"text","text":%q}]}`, fields[0], fields[1], fields[2]), &one))
		messages = append(messages, one)
	}
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	for name, c := range map[string]struct {
		point protocol.AirFork
		want  string
		none  bool
	}{
		"before the next prompt":        {point: protocol.AirFork{MessageID: "a1"}, want: "u2"},
		"the last message before it":    {point: protocol.AirFork{MessageID: "a2"}, want: "u2"},
		"with its text":                 {point: protocol.AirFork{MessageID: "a3", Fingerprint: hash("same")}, want: "u3"},
		"by its text alone":             {point: protocol.AirFork{Fingerprint: hash("same")}, want: "u2"},
		"by its text, for the 2nd time": {point: protocol.AirFork{Fingerprint: hash("same"), Occurrence: 2}, want: "u3"},
		"with another text":             {point: protocol.AirFork{MessageID: "a1", Fingerprint: hash("other")}, none: true},
		"by a text that is not there":   {point: protocol.AirFork{Fingerprint: hash("same"), Occurrence: 3}, none: true},
		"a user's message is none":      {point: protocol.AirFork{MessageID: "u1"}, none: true},
		"a message that is not there":   {point: protocol.AirFork{MessageID: "x"}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := promptBehind(messages, c.point)
			require.Equal(t, c.none, err != nil)
			require.Equal(t, c.want, got)
		})
	}
	got, err := promptBehind(messages[:5], protocol.AirFork{MessageID: "a3"})
	require.NoError(t, err)
	require.Empty(t, got, "nothing is behind it")
}

// Air copies a session up to a message of the agent's, and with it; the session stays as it is. Others' _meta is not looked at.
func TestForkPointForAir(t *testing.T) {
	for _, isOpen := range []bool{true, false} {
		for _, isAir := range []bool{true, false} {
			t.Run(fmt.Sprint(isOpen, isAir), func(t *testing.T) {
				versions(t, func(t *testing.T, v fakedroid.Option) {
					f, root := newFleet(t, v, repeats()), filepath.Join(t.TempDir(), "sessions")
					f.rewinds()
					e := open(t, f.start)
					e.agent.config.Store = store.New(root, zap.NewNop())
					capabilities := map[bool]string{true: asAir, false: "{}"}[isAir]
					require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`,`+asZed+`}`).Error)
					e.beginSession()
					require.Equal(t, "end_turn", e.run("one"))
					require.Equal(t, "end_turn", e.run("two"))
					var messages messagesResult
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
