package stream

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"droid-acp/internal/text/rawjson"

	"github.com/stretchr/testify/require"
)

const deltaLine = `{"jsonrpc":"2.0","type":"notification","factoryApiVersion":"1.0.0","factoryProtocolVersion":"1.220.0",` +
	`"method":"droid.session_notification","params":{"sessionId":"5c7effe1-96ff-4200-bdfd-f2fd4d5dae92","notification":` +
	`{"type":"assistant_text_delta","messageId":"4e76c44c-10e0-45ae-84c4-daf2856f20d3","blockIndex":0,"textDelta":"Hello \"you\" "}},` +
	`"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}`

func notification(body string) string {
	return `{"jsonrpc":"2.0","type":"notification","factoryApiVersion":"1.0.0","factoryProtocolVersion":"1.220.0",` +
		`"method":"droid.session_notification","params":{"sessionId":"S","notification":` + body + `}}`
}

func ptr[T any](v T) *T { return &v }

func TestTrace(t *testing.T) {
	state := `{"type":"droid_working_state_changed","newState":"idle"}`
	message := `{"type":"create_message","message":{"id":"i","role":"user"}}`
	for meta, want := range map[string]string{
		"": "",
		`,"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`: "0af7651916cd43dd8448eb211c80319c",
		`,"_meta":{"traceparent":"0af7651916cd43dd8448eb211c80319c"}`:                        "",
		`,"_meta":{"traceparent":7}`: "",
		`,"_meta":[]`:                "",
	} {
		for body, want := range map[string]Event{
			state:   WorkingStateChanged{State: StateIdle, Trace: want},
			message: MessageCreated{Message: Message{ID: "i", Role: RoleUser}, Trace: want},
		} {
			line := notification(body)
			got, err := new(Decoder).Decode([]byte(line[:len(line)-1]+meta+"}"), false)
			require.NoError(t, err)
			require.Equal(t, want, got.Event, meta)
		}
	}
}

func TestDecodeEvents(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for body, want := range map[string]Event{
		`{"type":"droid_working_state_changed","newState":"idle"}`: WorkingStateChanged{State: StateIdle},
		`{"type":"create_message","requestId":"2","message":{"id":"i","role":"user","visibility":"llm_only","parentId":"root","content":[{"type":"text","text":"hi"}]}}`: MessageCreated{
			RequestID: "2",
			Message: Message{ID: "i", Role: RoleUser, Visibility: VisibilityLLMOnly, ParentID: "root",
				Content: []ContentBlock{{Type: "text", Text: "hi"}}},
		},
		`{"type":"create_message","message":{"id":"i","role":"assistant","content":[{"type":"future","text":7}]}}`: MessageCreated{
			Message: Message{ID: "i", Role: RoleAssistant, Content: []ContentBlock{{Type: "future", Raw: raw(`{"type":"future","text":7}`)}}},
		},
		`{"type":"assistant_text_delta","messageId":"m","blockIndex":1,"textDelta":"\u00e4\ud83d\ude00\n"}`: TextDelta{MessageID: "m", BlockIndex: 1, Text: "ä😀\n"},
		`{"type":"thinking_text_delta","messageId":"m","blockIndex":0,"textDelta":""}`:                      TextDelta{MessageID: "m", Thinking: true},
		`{"type":"assistant_text_delta","messageId":"m","textDelta":"no index"}`:                            TextDelta{MessageID: "m", Text: "no index"},
		`{"type":"assistant_text_delta","messageId":null,"blockIndex":-1,"textDelta":"x"}`:                  TextDelta{BlockIndex: -1, Text: "x"},
		`{"\u0074ype":"assistant_text_delta","messageId":"m\u0021","textDelta":"x","blockIndex":0}`:         TextDelta{MessageID: "m!", Text: "x"},
		`{"type":"assistant_text_complete","messageId":"m","blockIndex":1}`:                                 TextComplete{MessageID: "m", BlockIndex: 1},
		`{"type":"thinking_text_complete","messageId":"m","blockIndex":0,"durationMs":3}`:                   TextComplete{MessageID: "m", Thinking: true},
		`{"type":"tool_call","toolUse":{"type":"tool_use","id":"c","name":"Read","input":{"a":[1, 2]}}}`:    ToolCall{ToolUse{ID: "c", Name: "Read", Input: raw(`{"a":[1, 2]}`)}},
		`{"type":"tool_execution_phase_changed","toolUseId":"c","toolName":"Read","phase":"queued"}`:        ToolPhaseChanged{"c", "Read", "queued"},
		`{"type":"tool_progress_update","toolUseId":"c","toolName":"Execute","update":{"type":"status","text":"l","fullOutput":"o"}}`: ToolProgress{
			"c", "Execute", ProgressUpdate{Type: "status", Text: "l", FullOutput: "o"}},
		`{"type":"tool_result","toolUseId":"c","messageId":"m","content":[{"type":"image"}],"isError":true}`: ToolResult{"c", "m", raw(`[{"type":"image"}]`), true},
		`{"type":"permission_resolved","requestId":"p","toolUseIds":["c"],"selectedOption":"proceed_once"}`:  PermissionResolved{"p", []string{"c"}, "proceed_once"},
		`{"type":"child_session_available","childSessionId":"s","toolUseId":"c","subagentType":"worker","description":"look","timestamp":17}`: ChildSessionAvailable{
			"s", "c", "worker", "look", 17},
		`{"type":"settings_updated","requestId":"3","settings":{"autonomyMode":"spec"}}`: SettingsUpdated{
			Settings: Settings{AutonomyMode: ptr("spec"), Raw: raw(`{"autonomyMode":"spec"}`)}, RequestID: "3"},
		`{"type":"session_title_updated","title":"T","updateType":"llm_generated"}`: TitleUpdated{Title: "T", UpdateType: "llm_generated"},
		`{"type":"session_token_usage_changed","tokenUsage":{"inputTokens":1},"lastCallTokenUsage":{"outputTokens":2}}`: TokenUsageChanged{
			TokenUsage{InputTokens: 1}, TokenUsage{OutputTokens: 2}},
		`{"type":"agent_turn_completed","reason":"completed","turnId":"u","tokenUsage":{"thinkingTokens":4}}`: TurnCompleted{"completed", "u", TokenUsage{ThinkingTokens: 4}},
		`{"type":"llm_retry","attempt":2,"reason":"overloaded"}`:                                              LLMRetry{2, "overloaded"},
		`{"type":"assistant_message_retracted","messageId":"m"}`:                                              MessageRetracted{"m"},
		`{"type":"queued_messages_discarded","text":"q","requestId":"3"}`:                                     QueuedMessagesDiscarded{"q", "3"},
		`{"type":"session_compacted","summaryId":"s","removedCount":9}`:                                       SessionCompacted{9},
		`{"type":"mcp_status_changed","servers":[{"name":"n","status":"connected"}]}`:                         MCPStatusChanged{Servers: []MCPServerStatus{{Name: "n", Status: "connected"}}},
		`{"type":"mcp_auth_required","serverName":"n","authUrl":"u","message":"m"}`:                           MCPAuthRequired{"n", "u", "m"},
		`{"type":"mcp_auth_completed","serverName":"n","outcome":"success"}`:                                  MCPAuthCompleted{ServerName: "n", Outcome: "success"},
		`{"type":"structured_output","messageId":"m","structuredOutput":{"a":1}}`:                             StructuredOutput{"m", raw(`{"a":1}`)},
		`{"type":"error","message":"401","errorType":"Error","timestamp":1,"error":{"name":"N","message":"M"}}`: Failure{"401", "Error", struct {
			Name    string `json:"name"`
			Message string `json:"message"`
		}{"N", "M"}},
		`{"type":"hook_execution_started","hookId":"h"}`: HookStarted{HookID: "h"},
		`{"type":"hook_execution_completed","hookId":"h","hookResults":[{"exitCode":2,"stderr":"no"}]}`: HookCompleted{
			HookID: "h", Results: []HookResult{{ExitCode: 2, Stderr: "no"}}},
		`{"type":"no_such_thing","hookId":"h"}`: Unknown{Type: "no_such_thing", Raw: raw(`{"type":"no_such_thing","hookId":"h"}`)},
		`{}`:                                    Unknown{Raw: raw(`{}`)},
	} {
		line, err := new(Decoder).Decode([]byte(notification(body)), false)
		require.NoError(t, err, body)
		require.Equal(t, want, line.Event, body)
		require.Equal(t, Version{1, 220, 0}, line.Version)
		require.Equal(t, "S", line.SessionID)
		require.Nil(t, line.Response)
		if _, unknown := want.(Unknown); !unknown && body[2] == 't' {
			require.Contains(t, body, `"type":"`+want.Kind()+`"`)
		}
	}
}

// A line of a subagent's file has its time, or not.
func TestDecodeChildLine(t *testing.T) {
	l, ok := DecodeChildLine([]byte(`{"type":"message","timestamp":"2026-11-23T21:34:34.508Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}`))
	require.True(t, ok)
	require.Equal(t, []ContentBlock{{Type: "text", Text: "hi"}}, l.Message.Content)
	at := time.Date(2026, 11, 23, 21, 34, 34, 508e6, time.UTC)
	require.False(t, l.Before(at))
	require.True(t, l.Before(at.Add(time.Millisecond)))
	l, ok = DecodeChildLine([]byte(`{"type":"message","timestamp":7}`))
	require.True(t, ok)
	require.False(t, l.Before(at))
	for _, line := range []string{``, `[]`, `{"type":"message"`, `{"type":7}`} {
		_, ok = DecodeChildLine([]byte(line))
		require.False(t, ok, line)
	}
}

// Known events that do not decode are kept, with the reason.
func TestDecodeUnreadableEvents(t *testing.T) {
	for _, body := range []string{
		`{"type":"assistant_text_delta","messageId":"m","blockIndex":"0","textDelta":"x"}`,
		`{"type":"assistant_text_delta","messageId":"m","blockIndex":1e99,"textDelta":"x"}`,
		`{"type":"thinking_text_delta","messageId":"m","blockIndex":0,"textDelta":{"x":1}}`,
		`{"type":"create_message","message":{"content":"text"}}`,
		`{"type":"settings_updated","settings":[]}`,
	} {
		line, err := new(Decoder).Decode([]byte(notification(body)), false)
		require.NoError(t, err)
		u, ok := line.Event.(Unknown)
		require.True(t, ok, body)
		require.Error(t, u.Err)
		require.JSONEq(t, body, string(u.Raw))
		require.Contains(t, body, `"`+u.Type+`"`)
		require.Nil(t, line.RequestID, "a notification is not answered")
	}
	for _, body := range []string{`null`, `[]`, `"x"`} {
		line, err := new(Decoder).Decode([]byte(notification(body)), false)
		require.NoError(t, err)
		require.IsType(t, Unknown{}, line.Event)
		require.Error(t, line.Event.(Unknown).Err)
	}
	line, err := new(Decoder).Decode([]byte(`{"type":"notification","method":"droid.other","params":{"a":1}}`), false)
	require.NoError(t, err)
	require.Equal(t, Unknown{Type: "other", Raw: json.RawMessage(`{"a":1}`)}, line.Event)
}

func TestDecodeRequests(t *testing.T) {
	line, err := new(Decoder).Decode([]byte(`{"type":"request","id":"p1","method":"droid.request_permission","params":{"toolUses":[
		{"toolUse":{"id":"c","name":"Edit","input":{}},"confirmationType":"edit","details":{"type":"edit","filePath":"/f","oldContent":"","newContent":"n"}},
		{"toolUse":{"id":"d","name":"New","input":{}},"confirmationType":"new","details":{"type":"new","filePath":{"no":"string"}}}],
		"associatedSessionIds":["child","parent"],
		"options":[{"label":"Yes","value":"proceed_once","selectedColor":"#fff"}]}}`), false)
	require.NoError(t, err)
	p, ok := line.Event.(PermissionRequest)
	require.True(t, ok)
	require.Nil(t, line.RequestID)
	require.Equal(t, "p1", p.RequestID)
	require.Equal(t, []PermissionOption{{"Yes", "proceed_once"}}, p.Options)
	require.Equal(t, "", *p.ToolUses[0].Details.OldContent)
	require.Nil(t, p.ToolUses[0].Details.Content)
	require.Equal(t, "new", p.ToolUses[1].Details.Type, "unreadable details keep their type")
	require.Contains(t, string(p.ToolUses[1].Details.Raw), "no")

	line, err = new(Decoder).Decode([]byte(`{"type":"request","id":"q1","method":"droid.ask_user","params":{"toolCallId":"c","questions":[{"index":1,"topic":"T","question":"Q","options":["a"],"multiSelect":true}]}}`), false)
	require.NoError(t, err)
	require.Equal(t, QuestionRequest{"q1", "c", []Question{{1, "T", "Q", []string{"a"}, true}}}, line.Event)

	for body, want := range map[string]struct {
		kind    string
		id      string
		invalid bool
	}{
		`{"type":"request","id":"x","method":"droid.new","params":{"a":1}}`:                      {"new", `"x"`, false},
		`{"type":"request","id":"x","method":"droid.request_permission","params":{"options":1}}`: {"request_permission", `"x"`, true},
		`{"type":"request","id":"x","method":"droid.ask_user"}`:                                  {"ask_user", `"x"`, true},
		`{"type":"request","id":7,"method":"droid.ask_user","params":{}}`:                        {"ask_user", `7`, true},
		`{"id":7,"method":"droid.new"}`:                                                          {"new", `7`, false},
	} {
		line, err := new(Decoder).Decode([]byte(body), false)
		require.NoError(t, err)
		require.Equal(t, want.kind, line.Event.(Unknown).Type)
		require.Equal(t, want.id, string(line.RequestID))
		require.Equal(t, want.invalid, line.Invalid)
	}
}

func TestDecodeResponses(t *testing.T) {
	for body, want := range map[string]Response{
		`{"type":"response","id":"1","result":{}}`:                                     {ID: "1", Result: json.RawMessage(`{}`)},
		`{"id":"1","result":null}`:                                                     {ID: "1", Result: json.RawMessage(`null`)},
		`{"type":"response","id":null,"error":{"code":-32600,"message":"Invalid"}}`:    {Err: &RPCError{Code: -32600, Message: "Invalid"}},
		`{"type":"response","id":"1","result":{},"error":null}`:                        {ID: "1", Result: json.RawMessage(`{}`)},
		`{"type":"response","id":"1","error":"text"}`:                                  {ID: "1", Err: &RPCError{Message: "unreadable error", Data: json.RawMessage(`"text"`)}},
		`{"type":"response","id":"1","error":{"code":1,"message":"m","data":[1,[2]]}}`: {ID: "1", Err: &RPCError{1, "m", json.RawMessage(`[1,[2]]`)}},
	} {
		line, err := new(Decoder).Decode([]byte(body), false)
		require.NoError(t, err)
		require.Equal(t, &want, line.Response, body)
	}
}

func TestDecodeNoMessage(t *testing.T) {
	for body, want := range map[string]error{
		``: errNotJSON, `hello`: errNotJSON, `{`: errNotJSON, `[{}]`: errNotJSON, `null`: errNotJSON, `{"a":1} {}`: errNotJSON,
		`{}`: errNotMessage, `{"id":"1"}`: errNotMessage, `{"type":"request","method":"m"}`: errNotMessage, `{"type":"other","id":"1","result":1}`: errNotMessage,
	} {
		_, err := new(Decoder).Decode([]byte(body), false)
		require.ErrorIs(t, err, want, body)
	}
}

// Decoded values do not change when the reader overwrites its buffer.
func TestDecodeSharesNoMemory(t *testing.T) {
	for _, text := range []string{
		deltaLine,
		notification(`{"type":"tool_result","toolUseId":"c","content":"text"}`),
		notification(`{"type":"new","a":"b"}`),
		notification(`{"type":"settings_updated","settings":{"x":"y"}}`),
		`{"type":"request","id":"x","method":"droid.new","params":{"a":1}}`,
		`{"type":"response","id":"x","result":{"a":1}}`,
		`{"type":"response","id":"x","error":{"code":1,"data":{"a":1}}}`,
	} {
		buf := []byte(text)
		got, err := new(Decoder).Decode(buf, false)
		require.NoError(t, err)
		for i := range buf {
			buf[i] = '#'
		}
		want, err := new(Decoder).Decode([]byte(text), false)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// FuzzDecodeLine feeds anything and checks the promises of DecodeLine.
func FuzzDecodeLine(f *testing.F) {
	f.Add([]byte(deltaLine))
	f.Add([]byte(`{"type":"request","id":"x","method":"droid.ask_user","params":{"questions":[{"index":1}]}}`))
	f.Add([]byte(`{"type":"response","id":null,"error":{"code":-32600,"message":"Invalid request format"}}`))
	f.Add([]byte(`{"type":"request","id":7,"method":"droid.request_permission","params":{"toolUses":[{"details":{"type":1}}]}}`))
	for _, body := range []string{`{"type":"create_message","message":{"content":[{"type":"text"}]}}`, `{"type":"settings_updated","settings":{"modelId":1}}`, `{"\u0074ype":"\u0061"}`} {
		f.Add([]byte(notification(body)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		line, err := new(Decoder).Decode(data, false)
		if err != nil {
			require.Equal(t, Line{}, line)
			return
		}
		require.True(t, (line.Event == nil) != (line.Response == nil), "one of both")
		if line.Event != nil {
			line.Event.Kind()
		}
		if line.RequestID != nil {
			require.IsType(t, Unknown{}, line.Event)
			require.True(t, json.Valid(line.RequestID))
		}
		var m map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(data, &m))
		for name, value := range rawjson.Fields(data) {
			require.True(t, json.Valid(value))
			if utf8.Valid(name) {
				require.Contains(t, m, string(name))
			}
		}
	})
}

// FuzzTextDelta checks the path without reflection against encoding/json.
func FuzzTextDelta(f *testing.F) {
	f.Add("m", 0, "text", false)
	f.Add("\xe0", 0, "\xb9\x8a", false) // valid together only
	f.Add("\"\\", 123456789, "\x00\u2028\xff😀</a>", true)
	f.Fuzz(func(t *testing.T, id string, index int, text string, thinking bool) {
		want := TextDelta{MessageID: id, BlockIndex: index, Text: text, Thinking: thinking}
		body, err := json.Marshal(map[string]any{"type": want.Kind(), "messageId": id, "blockIndex": index, "textDelta": text})
		require.NoError(t, err)
		line, err := new(Decoder).Decode([]byte(notification(string(body))), false)
		require.NoError(t, err)
		want.MessageID, want.Text = strings.ToValidUTF8(id, "\uFFFD"), strings.ToValidUTF8(text, "\uFFFD")
		if utf8.ValidString(id) && utf8.ValidString(text) {
			require.Equal(t, want, line.Event)
		} else {
			require.IsType(t, want, line.Event)
		}
	})
}

// A line means the same whatever the decoder has read before it.
func FuzzDecodeAfterADelta(f *testing.F) {
	const before, behind = `{"type":"notification","method":"droid.session_notification","params":{"notification":{"type":"assistant_text_delta","messageId":"m","blockIndex":0,"textDelta":"`, `"},"sessionId":"s"}}`
	for _, text := range []string{"", "word ", `\n\u00e9\ud83d\ude00`, `\`, `\u12`, `\u+123`, `\x`, "\n", "\xff", `"`, `","textDelta":"b`, `"},"sessionId":"s"}}{"params":{"notification":{"textDelta":"`} {
		f.Add([]byte(before+text+behind), []byte(before+"other"+behind))
		f.Add([]byte(before+"other"+behind), []byte(before+text+behind))
	}
	f.Add([]byte(deltaLine), []byte(deltaLine[:len(deltaLine)-1]))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var d Decoder
		_, _ = d.Decode(first, false)
		line, err := d.Decode(second, false)
		want, wantErr := new(Decoder).Decode(second, false)
		require.Equal(t, wantErr, err)
		require.Equal(t, want, line)

		d = Decoder{}
		before, _ := d.Decode(first, false)
		var text strings.Builder
		if d.More(&text, second) {
			delta := before.Event.(TextDelta)
			delta.Text = text.String()
			before.Event = delta
			require.Equal(t, want, before)
		} else {
			require.Zero(t, text.Len())
		}
	})
}

// TestKinds: an event has the name under which the table has it.
func TestKinds(t *testing.T) {
	for kind, n := range kinds {
		ev := n.decode(kind, []byte("{}"))
		require.Equal(t, kind, ev.Kind())
	}
}
