package adapter

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
	"droid-acp/internal/store"
)

// What clients send where a request needs no params, or has a field of another form.
func TestLenientParams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi"), fakedroid.WithSessions(new(fakedroid.Sessions))))
		e.agent.cfg.Store = store.New(t.TempDir(), e.agent.log)
		for _, params := range []string{`null`, `[]`, `{}`, ` { } `, `{"cwd":null,"cursor":null,"limit":5,"_meta":null}`, `{"cwd":"","cursor":""}`} {
			answer := e.call("session/list", params)
			require.Nil(t, answer.Error, params)
			require.JSONEq(t, `{"sessions":[]}`, string(answer.Result), params)
		}
		for _, params := range []string{
			`{"cwd":"/workspace"}`, `{"cwd":"/workspace","mcpServers":null}`, `{"cwd":"/workspace","mcpServers":{},"_meta":null}`,
			`{"cwd":"/workspace","mcpServers":[],"_meta":{"anything":{"else":[1]}},"modeId":null,"unknown":1}`,
			`{"cwd":"/workspace","mcpServers":[{"name":"a","command":"sh","args":null,"env":null}]}`,
			`{"cwd":"/workspace","mcpServers":[{"name":"a","command":"sh","args":[],"env":{"KEY":"value"}}]}`, // CodeCompanion
		} {
			require.Nil(t, e.call("session/new", params).Error, params)
		}
	})
}

// Other agents' ids and wrong forms are refused with words that say what is right.
func TestRefusedParamsSayWhatIsRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		for _, c := range []struct{ method, params, says string }{
			{"session/set_mode", `"modeId":"bypassPermissions"`, `"bypassPermissions" is no value of mode; the values are normal, spec, auto-low, auto-medium, auto-high`},
			{"session/set_mode", `"modeId":null`, `"" is no value of mode; the values are`},
			{"session/set_mode", `"modeId":5`, "modeId is of the JSON type number"},
			{"session/set_config_option", `"configId":[],"value":"x"`, "configId is of the JSON type array"},
			{"session/prompt", `"prompt":"hi"`, "prompt must be a list of content blocks; it is of the JSON type string"},
			{"session/prompt", `"prompt":[{"type":"text","text":["hi"]}]`, "prompt must be a list of content blocks; the text of one is of the JSON type array"},
		} {
			answer := e.call(c.method, `{"sessionId":"`+e.session+`",`+c.params+`}`)
			require.NotNil(t, answer.Error, c.params)
			require.Equal(t, -32602, answer.Error.Code, c.params)
			require.Contains(t, answer.Error.Message, c.says)
			require.NotContains(t, answer.Error.Message, "Go ")
		}
		require.Contains(t, e.call("session/load", `[]`).Error.Message, "the params are of the JSON type array")
		require.Equal(t, "end_turn", e.run("hello"))
	})
}

// What a client tells and this agent does not know disturbs nothing.
func TestUnknownNotificationsDisturbNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		before := len(e.received())
		for _, n := range [][2]string{
			{"session/cancel", `{"sessionId":"nobody"}`}, {"session/cancel", `{}`}, {"session/cancel", `null`},
			{"$/cancel_request", `{"requestId":"nothing"}`}, {"$/cancel_request", `{"requestId":null}`}, {"$/cancel_request", `{}`},
			{"notifications/initialized", `{}`}, {"initialized", `{}`}, {"$/progress", `{}`}, {"_unknown/thing", `{"x":1}`},
			{"session/update", `{"sessionId":"nobody","update":{}}`}, {"exit", `null`}, {"document/didOpen", `{}`},
		} {
			e.notify(n[0], n[1])
			synctest.Wait()
		}
		require.Len(t, e.received(), before, "nobody answers a notification")
		// JetBrains' library puts the name of its type into each message.
		e.send(`{"type":"com.agentclientprotocol.rpc.JsonRpcRequest","id":"jb","method":"session/list","params":{"cwd":"relative"},"jsonrpc":"2.0"}`)
		require.Equal(t, -32602, e.await(`"jb"`).Error.Code)
		e.send(`{"jsonrpc":"2.0","id":"late","result":{"outcome":{"outcome":"cancelled"}}}`)
		require.Equal(t, "end_turn", e.run("hello"))
	})
}
