package droids

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNormal(t *testing.T) {
	n := NewNormal([]string{"Hello to you. ", "$WORK/a.txt", "t1"}, "/tmp/x/work", "$WORK", "/tmp/x", "$HOME")
	for _, tc := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","type":"notification","_meta":{},"factoryApiVersion":"1.0.0","method":"droid.session_notification","params":{"sessionId":"0b8d4c1e-1111-4111-8111-111111111111","notification":{"type":"assistant_text_delta","messageId":"m-88","textDelta":"Hello ","blockIndex":1}}}`,
			`{"method":"droid.session_notification","params":{"notification":{"blockIndex":1,"messageId":"#1","textDelta":"Hello ","type":"assistant_text_delta"},"sessionId":"#2"}}`},
		{`{"params":{"messageId":"m-88","toolUseId":"t1","sessionId":"0b8d4c1e-1111-4111-8111-111111111111","durationMs":17,"code":-32601,"ok":true,"none":null}}`,
			`{"params":{"code":-32601,"durationMs":0,"messageId":"#1","none":null,"ok":true,"sessionId":"#2","toolUseId":"t1"}}`},
		{`{"content":"Error: Error: You may not do that","path":"/tmp/x/work/a.txt","log":"/tmp/x/.factory/logs/one two","state":"executing_tool","at":"2026-11-25T00:00:00Z","model":"custom:Scripted-0"}`,
			`{"at":"…","content":"Error: Error: …","log":"…","model":"custom:Scripted-0","path":"$WORK/a.txt","state":"executing_tool"}`},
		{`{"availableModels":[{"id":"theirs"},{"id":"custom:Scripted-0","isCustom":true}],"long":[1,2,3,4,5,6,7,8]}`,
			`{"availableModels":[{"id":"custom:Scripted-0","isCustom":true}],"long":[0,0,0,0,0,0]}`},
	} {
		got, err := n.Line([]byte(tc.line))
		require.NoError(t, err)
		require.Equal(t, tc.want, got)
	}
	_, err := n.Line([]byte("no json"))
	require.Error(t, err)
}

// What depends on a machine's speed is not in a recording.
func TestFold(t *testing.T) {
	line := func(text string) Line {
		return Line{Dir: '<', Message: true, Text: []byte(`{"params":{"notification":` + text + `}}`)}
	}
	piece := func(id, text string) Line {
		return line(`{"messageId":"` + id + `","textDelta":"` + text + `","type":"assistant_text_delta"}`)
	}
	call := func(id, input string) Line {
		return line(`{"type":"tool_call","toolUse":{"id":"` + id + `","input":"` + input + `"}}`)
	}
	state := line(`{"type":"droid_working_state_changed","newState":"idle"}`)
	sent := Line{Dir: '>', Message: true, Text: []byte(`{}`)}
	for name, tc := range map[string]struct{ in, want []Line }{
		"text":           {[]Line{piece("a", "x"), piece("a", "y"), piece("b", "z"), state, piece("b", "z")}, []Line{piece("a", "xy"), piece("b", "z"), state, piece("b", "z")}},
		"calls":          {[]Line{call("a", ""), call("a", "1"), call("a", "2"), call("a", "3"), call("b", "")}, []Line{call("a", ""), call("a", "3"), call("b", "")}},
		"states stay":    {[]Line{state, state}, []Line{state, state}},
		"what is sent":   {[]Line{sent, sent}, []Line{sent, sent}},
		"nothing at all": {nil, nil},
	} {
		got := Fold(tc.in)
		require.Len(t, got, len(tc.want), name)
		for i := range got {
			require.JSONEq(t, string(tc.want[i].Text), string(got[i].Text), name)
		}
	}
}
