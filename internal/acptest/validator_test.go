package acptest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	v, err := Load("../../testdata/acp-schema/schema.json")
	require.NoError(t, err)
	update := func(u string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + u + `}}`
	}
	for _, tc := range []struct {
		name, line, answered string
		ok                   bool
	}{
		{"a chunk", update(`{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"x"}}`), "", true},
		{"a chunk without text", update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text"}}`), "", false},
		{"a field of our own", update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"colour":"red"}`), "", false},
		{"a field in _meta", update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","_meta":{"colour":"red"}}`), "", true},
		{"a diff", update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","content":[{"type":"diff","path":"/a","newText":""}]}`), "", true},
		{"a diff without text", update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","content":[{"type":"diff","path":"/a"}]}`), "", false},
		{"an unknown kind", update(`{"sessionUpdate":"mood","mood":"good"}`), "", false},
		{"a plan without entries", update(`{"sessionUpdate":"plan","entries":null}`), "", false},
		{"an unknown method", `{"jsonrpc":"2.0","method":"session/dance","params":{}}`, "", false},
		{"a result", `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`, "session/prompt", true},
		{"a stop reason of our own", `{"jsonrpc":"2.0","id":1,"result":{}}`, "session/prompt", false},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no","data":{"details":"x"}}}`, "", true},
		{"an error without a code", `{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}`, "", false},
		{"no version", `{"id":1,"result":{}}`, "", false},
	} {
		err := v.Check([]byte(tc.line), tc.answered)
		require.Equal(t, tc.ok, err == nil, "%s: %v", tc.name, err)
	}
}
