package acptest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// everything declares all capabilities that change what a client is sent.
const everything = `{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,"auth":{"terminal":true},"plan":{},"subagents":{},
	"session":{"notices":{},"compaction":{},"configOptions":{"boolean":{}}},"elicitation":{"form":{},"url":{}},"_meta":{"terminal_output":true}}`

func load(t *testing.T) *Validator {
	t.Helper()
	v, err := Load("../../../testdata/acp-schema")
	require.NoError(t, err)
	return v
}

// talkWith is a conversation with a client that declares these capabilities, loads the session "s" and
// has sent a request, 7.
func talkWith(v *Validator, capabilities, method string) *Conversation {
	c := v.NewConversation()
	c.Client([]byte(`{"jsonrpc":"2.0","id":"load","method":"session/load","params":{"sessionId":"s"}}`))
	c.Client([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":` + capabilities + `}}`))
	if method != "" {
		c.Client([]byte(`{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{}}`))
	}
	return c
}

func update(u string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + u + `}}`
}

func result(r string) string { return `{"jsonrpc":"2.0","id":7,"result":` + r + `}` }

func failure(e string) string { return `{"jsonrpc":"2.0","id":7,"error":` + e + `}` }

func TestForms(t *testing.T) {
	v := load(t)
	for _, tc := range []struct {
		name, line, answered string
		ok                   bool
	}{
		{"a chunk", update(`{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"x"}}`), "", true},
		{"a chunk without text", update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text"}}`), "", false},
		{"a field of our own", update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"colour":"red"}`), "", false},
		{"a field of our own within", update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x","colour":"red"}}`), "", false},
		{"a field in _meta", update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","_meta":{"colour":"red"}}`), "", true},
		{"any raw input", update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","rawInput":{"colour":{"of":"hair"}}}`), "", true},
		{"the name of a tool", update(`{"sessionUpdate":"tool_call","toolCallId":"a","title":"Read x","name":"Read"}`), "", true},
		{"a diff", update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","content":[{"type":"diff","path":"/a","newText":""}]}`), "", true},
		{"a diff without text", update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","content":[{"type":"diff","path":"/a"}]}`), "", false},
		{"a field of our own in a location", update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","locations":[{"path":"/a","column":2}]}`), "", false},
		{"an unknown kind", update(`{"sessionUpdate":"mood","mood":"good"}`), "", false},
		{"a plan without entries", update(`{"sessionUpdate":"plan","entries":null}`), "", false},
		{"an unknown method", `{"jsonrpc":"2.0","id":3,"method":"session/dance","params":{}}`, "", false},
		{"a method of nobody's", `{"jsonrpc":"2.0","method":"_droid/dance","params":{}}`, "", false},
		{"what droid says while it logs in", `{"jsonrpc":"2.0","method":"_factory/anything","params":{"a":1}}`, "", true},
		{"what droid asks while it logs in", `{"jsonrpc":"2.0","id":"a","method":"_factory/anything"}`, "", true},
		{"the login that is pushed", `{"jsonrpc":"2.0","method":"_auth/status_update","params":{"authStatus":{"kind":"none","label":"Not logged in"}}}`, "", true},
		{"it without words", `{"jsonrpc":"2.0","method":"_auth/status_update","params":{"authStatus":{"kind":"none"}}}`, "", false},
		{"a result", result(`{"stopReason":"end_turn"}`), "session/prompt", true},
		{"a result with usage", result(`{"stopReason":"end_turn","usage":{"totalTokens":3,"inputTokens":2,"outputTokens":1}}`), "session/prompt", true},
		{"usage of half", result(`{"stopReason":"end_turn","usage":{"totalTokens":3}}`), "session/prompt", false},
		{"a stop reason of our own", result(`{"stopReason":"bored"}`), "session/prompt", false},
		{"no stop reason", result(`{}`), "session/prompt", false},
		{"a field of our own in a result", result(`{"sessionId":"s","colour":"red"}`), "session/new", false},
		{"models", result(`{"sessionId":"s","modes":{"currentModeId":"a","availableModes":[]},"models":{"currentModelId":"m","availableModels":[]}}`), "session/new", true},
		{"models of another form", result(`{"sessionId":"s","modes":{"currentModeId":"a","availableModes":[]},"models":["m"]}`), "session/new", false},
		{"a fork", result(`{"sessionId":"s"}`), "session/fork", true},
		{"a category of a later version", result(`{"configOptions":[{"id":"a","name":"a","type":"select","currentValue":"x","options":[],"category":"hair"}]}`), "session/set_config_option", false},
		{"a category of our own", result(`{"configOptions":[{"id":"a","name":"a","type":"select","currentValue":"x","options":[],"category":"_hair"}]}`), "session/set_config_option", true},
		{"a result of nobody's method", result(`{}`), "session/dance", false},
		{"an error", failure(`{"code":-32603,"message":"no","data":{"details":"x"}}`), "", true},
		{"an error without a code", failure(`{"message":"no"}`), "", false},
		{"an error with a code of our own", failure(`{"code":-32050,"message":"no"}`), "", false},
		{"no version", `{"id":7,"result":{}}`, "", false},
		{"a field of our own beside", `{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn"},"colour":"red"}`, "session/prompt", false},
		{"a result and an error", `{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn"},"error":{"code":-32603,"message":"no"}}`, "session/prompt", false},
		{"a result without an id", `{"jsonrpc":"2.0","result":{"stopReason":"end_turn"}}`, "session/prompt", false},
		{"an error without an id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, "", false},
		{"an error of what had no id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, "", true},
		{"an id that is no whole number", `{"jsonrpc":"2.0","id":1.5,"error":{"code":-32700,"message":"no"}}`, "", false},
		{"a notification with an id", `{"jsonrpc":"2.0","id":3,"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}}`, "", false},
		{"a request without an id", `{"jsonrpc":"2.0","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"a"},"options":[]}}`, "", false},
		{"a request", `{"jsonrpc":"2.0","id":"a","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"a"},"options":[]}}`, "", true},
	} {
		err := talkWith(v, `{}`, tc.answered).Agent([]byte(tc.line))
		require.Equal(t, tc.ok, err == nil, "%s: %v", tc.name, err)
	}
}

// A message that requires a capability is valid for a client that declares everything, and invalid for one that declares nothing or
// everything but this.
func TestCapabilities(t *testing.T) {
	v := load(t)
	option := `"configOptions":[{"id":"a","name":"a","type":"boolean","currentValue":true}]`
	for _, tc := range []struct{ name, line, answered string }{
		{"a notice", update(`{"sessionUpdate":"notice","severity":"info","title":"x"}`), ""},
		{"a compaction", update(`{"sessionUpdate":"compaction_update","compactionId":"c","status":"completed"}`), ""},
		{"its summary", update(`{"sessionUpdate":"compaction_summary_chunk","compactionId":"c","content":{"type":"text","text":"x"}}`), ""},
		{"a plan that is removed", update(`{"sessionUpdate":"plan_removed","planId":"p"}`), ""},
		{"a subagent", update(`{"sessionUpdate":"subagent_update","sessionId":"p"}`), ""},
		{"output of a terminal", update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","_meta":{"terminal_output":{}}}`), ""},
		{"a terminal", update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","content":[{"type":"terminal","terminalId":"a"}]}`), ""},
		{"a boolean option", update(`{"sessionUpdate":"config_option_update",` + option + `}`), ""},
		{"a boolean option in a result", result(`{` + option + `}`), "session/set_config_option"},
		{"a form", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"form","sessionId":"s","message":"x","requestedSchema":{"type":"object","properties":{}}}}`, ""},
		{"an address", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","sessionId":"s","message":"x","url":"https://a","elicitationId":"e"}}`, ""},
		{"its end", `{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"e"}}`, ""},
		{"a file", `{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}`, ""},
		{"a terminal login", result(`{"protocolVersion":1,"authMethods":[{"type":"terminal","id":"a","name":"a"}]}`), "initialize"},
	} {
		require.NoError(t, talkWith(v, everything, tc.answered).Agent([]byte(tc.line)), tc.name)
		require.Error(t, talkWith(v, `{}`, tc.answered).Agent([]byte(tc.line)), tc.name)
		require.Error(t, talkWith(v, `{"fs":{},"terminal":false,"session":null,"elicitation":7,"plan":null}`, tc.answered).Agent([]byte(tc.line)), tc.name)
	}
}

// Air takes subagents as sessions in a private form, whichever capability it declares.
func TestSubagentsForAir(t *testing.T) {
	v := load(t)
	air := func(capability string) string {
		return `"_meta":{"jetbrains":{"air":{"version":1,"capabilities":[` + capability + `]}}}}`
	}
	spawned, updated := update(`{"sessionUpdate":"subagent_spawned","subagentSessionId":"p","name":"n","task":"","capabilities":{}}`), update(`{"sessionUpdate":"subagent_update","sessionId":"p"}`)
	initialized := result(`{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"options":{},"subagents":{}}}}`)
	for capabilities, takes := range map[string]struct{ draft, schema bool }{
		`{"subagents":{},` + air(""):          {draft: true},
		`{` + air(`"nativeSubagentSessions"`): {draft: true},
		`{` + air(""):                         {},
		`{"subagents":{}}`:                    {schema: true},
	} {
		for line, valid := range map[string]bool{spawned: takes.draft, updated: takes.schema} {
			err := talkWith(v, capabilities, "").Agent([]byte(line))
			require.Equal(t, valid, err == nil, "%s: %s: %v", capabilities, line, err)
		}
		err := talkWith(v, capabilities, "initialize").Agent([]byte(initialized))
		require.Equal(t, takes.draft, err == nil, "%s: %v", capabilities, err)
	}
}

func TestARequestHasOneAnswer(t *testing.T) {
	c := talkWith(load(t), `{}`, "session/prompt")
	require.NoError(t, c.Agent([]byte(result(`{"stopReason":"end_turn"}`))))
	require.Error(t, c.Agent([]byte(result(`{"stopReason":"end_turn"}`))))
	c.Client([]byte(`{"jsonrpc":"2.0","id":7,"method":"session/prompt"}`))
	require.NoError(t, c.Agent([]byte(result(`{"stopReason":"end_turn"}`))))
}

// Nothing is about a session before the response that opens it, but for the history of a load.
func TestNothingBeforeASessionIsOpen(t *testing.T) {
	v := load(t)
	about := func(id string) []byte {
		return []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + id + `","update":{"sessionUpdate":"plan","entries":[]}}}`)
	}
	for _, tc := range []struct {
		method, result string // of the request that names "old"
		during         bool   // it may get an update about "old" during that
		opens          string
	}{
		{"session/new", `{"sessionId":"new"}`, false, "new"},
		{"session/fork", `{"sessionId":"new"}`, false, "new"},
		{"session/resume", `{}`, false, "old"},
		{"session/load", `{}`, true, "old"},
	} {
		c := v.NewConversation()
		c.Client([]byte(`{"jsonrpc":"2.0","id":7,"method":"` + tc.method + `","params":{"sessionId":"old"}}`))
		require.Equal(t, tc.during, c.Agent(about("old")) == nil, tc.method)
		require.Error(t, c.Agent(about("new")), tc.method)
		require.NoError(t, c.Agent([]byte(result(tc.result))), tc.method)
		for _, id := range []string{"old", "new"} {
			require.Equal(t, id == tc.opens, c.Agent(about(id)) == nil, tc.method+" "+id)
		}
		c = v.NewConversation()
		c.Client([]byte(`{"jsonrpc":"2.0","id":7,"method":"` + tc.method + `","params":{"sessionId":"old"}}`))
		require.NoError(t, c.Agent([]byte(failure(`{"code":-32603,"message":"no"}`))), tc.method)
		require.Error(t, c.Agent(about("old")), tc.method)
	}
}
