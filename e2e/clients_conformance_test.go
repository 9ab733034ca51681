//go:build e2e && linux

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// requirement is a requirement of ACP's conformance kit (agentclientprotocol/acp-tck, v1), by ID, or an additional one of the suites of
// acpx 0.19 ("acpx:", profile acp-core-v1) and dart_acp ("dart:"). The checks are ours. If a suite and this agent differ, says explains
// why.
//
// Omitted: ACP-AUTH-003, a successful login (TestLogin*), and ACP-AUTH-004, since there is no logout; dart's optional.fs.* and
// required.fs.absolute-paths (TestEdit*, whose client checks paths) and optional.terminals.*: droid runs commands itself, so this agent
// requests no terminal.
type requirement struct {
	id    string
	says  string
	check func(t *testing.T, k *kit)
}

// quiet is how long to wait for the absence of a message.
const quiet = time.Second

// kit is a client without declarations and name, with one session.
type kit struct {
	session
	h       home
	model   *modelserver.Server
	init    initialized
	created opened
	second  string // a session with nothing in it, "" if none is open; see other
}

type initialized struct {
	ProtocolVersion   int
	AgentInfo         struct{ Name, Version string }
	AgentCapabilities struct {
		LoadSession        bool
		PromptCapabilities struct{ Image, Audio, EmbeddedContext bool }
	}
	AuthMethods []struct{ ID, Type string }
}

type opened struct {
	SessionID string
	Modes     struct {
		CurrentModeID  string
		AvailableModes []struct{ ID string }
	}
	ConfigOptions []configOption
}

type configOption struct {
	ID, Type     string
	CurrentValue any
	Options      []struct {
		Value   string
		Options []struct{ Value string } // of a group
	}
}

// values returns the allowed values of an option.
func (o configOption) values() (values []any) {
	for _, v := range o.Options {
		if v.Options == nil {
			values = append(values, v.Value)
		}
		for _, inGroup := range v.Options {
			values = append(values, inGroup.Value)
		}
	}
	return values
}

func TestConformance(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello."})
		model.On("long", modelserver.Step{Text: strings.Repeat("word ", 2000), Delay: 25 * time.Millisecond})
		questionModel(model, "question")
		model.On("work", modelserver.Step{Text: "I work. ", Tools: []modelserver.ToolCall{
			toCreate("kit.txt", "new\n"), execute("kit", "cat kit.txt")}}, modelserver.Step{Text: "Done."})
		k := &kit{h: h, model: model}
		k.client = startAgent(t, h)
		k.mustCall("initialize", bare(1), &k.init)
		k.session = session{k.client, k.opens(t)}
		for _, r := range requirements {
			t.Run(r.id, func(t *testing.T) { r.check(t, k) })
		}
	})
}

// bare returns the params of initialize of a client that declares nothing.
func bare(version int) map[string]any {
	return map[string]any{"protocolVersion": version, "clientCapabilities": map[string]any{}}
}

// opens opens a session and returns its ID.
func (k *kit) opens(t *testing.T) string {
	k.mustCall("session/new", k.params(nil), &k.created)
	require.NotEmpty(t, k.created.SessionID)
	return k.created.SessionID
}

// other returns the ID of a second session.
func (k *kit) other(t *testing.T) string {
	if k.second == "" {
		k.second = k.opens(t)
	}
	return k.second
}

func (k *kit) params(more map[string]any) map[string]any {
	p := map[string]any{"cwd": k.h.work, "mcpServers": []any{}}
	for name, v := range more {
		p[name] = v
	}
	return p
}

// named returns params with the session's ID.
func (k *kit) named(more map[string]any) map[string]any {
	p := k.params(more)
	p["sessionId"] = k.id
	return p
}

// says sends a prompt of these blocks and returns the stop reason.
func (k *kit) says(t *testing.T, meta map[string]any, blocks ...any) string {
	var result struct{ StopReason string }
	k.mustCall("session/prompt", map[string]any{"sessionId": k.id, "prompt": append([]any{text("hello")}, blocks...), "_meta": meta}, &result)
	require.Contains(t, []string{"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}, result.StopReason)
	return result.StopReason
}

func text(s string) map[string]any { return map[string]any{"type": "text", "text": s} }

// since returns the lines from number from on.
func (k *kit) since(from int) []line {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]line(nil), k.lines[from:]...)
}

// nothing checks that for a while no line comes that ok accepts.
func (k *kit) nothing(t *testing.T, from int, ok func(line) bool) {
	time.Sleep(quiet)
	for _, l := range k.since(from) {
		require.False(t, ok(l), "%.300s", l.raw)
	}
}

func isResponse(l line) bool { return l.Method == "" }

// tells reports whether a line is an update of the session.
func (k *kit) tells(l line) bool {
	return l.Method == "session/update" && strings.Contains(string(l.Params), `"`+k.id+`"`)
}

// loaded loads the session. It returns the updates before the response; none must follow it.
func (k *kit) loaded(t *testing.T) (result json.RawMessage, before []update) {
	from := k.seen()
	number, l := k.response(k.request("session/load", k.named(nil)), turnLimit)
	require.Nil(t, l.Error)
	for _, l := range k.since(from)[:number-from] {
		if u, ok := asUpdate(l); ok {
			before = append(before, u)
		}
	}
	k.nothing(t, number+1, func(l line) bool {
		return k.tells(l) && !strings.Contains(l.raw, "A scripted title") // the model makes one when it likes
	})
	return l.Result, before
}

// refused checks that a request is answered by this error.
func (k *kit) refused(t *testing.T, code int, method string, params any) {
	_, err := k.call(method, params)
	require.NotNil(t, err, method)
	require.Equal(t, code, err.Code, "%s: %v", method, err)
}

// another returns a client with another agent.
func (k *kit) another(t *testing.T, initialize map[string]any, flags ...string) (*client, initialized) {
	c := startAgent(t, newHome(t, k.h.version, k.model.URL()), flags...)
	var result initialized
	c.mustCall("initialize", initialize, &result)
	return c, result
}

const unknownSession = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

var requirements = []requirement{
	{"ACP-JSONRPC-001", "A response has the id of its request, number or string.", func(t *testing.T, k *kit) {
		for _, id := range []string{`424242`, `"a string"`} {
			k.write(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": "session/list"})
			k.await("the response to "+id, 0, turnLimit, func(l line) bool { return isResponse(l) && string(l.ID) == id })
		}
	}},
	{"ACP-JSONRPC-002", "A response has a result or an error; an error has a code and a message. acpx: errors.invalid_params, errors.invalid_params.cwd_null, errors.invalid_prompt_session_type; dart: required.error.invalid-params.", func(t *testing.T, k *kit) {
		k.refused(t, codeParams, "session/new", map[string]any{"mcpServers": []any{}})
		k.refused(t, codeParams, "session/new", map[string]any{"cwd": nil, "mcpServers": []any{}})
		k.refused(t, codeParams, "session/prompt", map[string]any{"sessionId": k.id, "prompt": map[string]any{"oops": true}})
		k.refused(t, codeParams, "session/prompt", map[string]any{"sessionId": 7, "prompt": []any{text("hello")}})
	}},
	{"ACP-JSONRPC-003", "A notification is not answered. acpx: session.cancel.idle.", func(t *testing.T, k *kit) {
		from := k.seen()
		k.notify("session/cancel", map[string]any{"sessionId": k.id})
		k.nothing(t, from, isResponse)
	}},
	{"ACP-JSONRPC-004", "An unknown method is refused as such. dart: required.error.method-not-found, required.error.extension-method-not-found.", func(t *testing.T, k *kit) {
		k.refused(t, codeMethod, "_kit/unknown", map[string]any{})
		k.refused(t, codeMethod, "this/method/is/none", map[string]any{})
	}},
	{"ACP-JSONRPC-005", "After a wrong request the connection goes on.", func(t *testing.T, k *kit) {
		k.refused(t, codeMethod, "_kit/unknown", nil)
		k.goesOn()
	}},
	{"ACP-INIT-001", "initialize succeeds. acpx: initialize.handshake; dart: required.initialize.", func(t *testing.T, k *kit) {
		require.NotZero(t, k.init.ProtocolVersion)
	}},
	{"ACP-INIT-002", "Version 1 is answered by 1.", func(t *testing.T, k *kit) { require.Equal(t, 1, k.init.ProtocolVersion) }},
	{"ACP-INIT-003", "A version from the future is answered by ours.", func(t *testing.T, k *kit) {
		future := bare(65535)
		future["info"] = map[string]any{"name": "future", "version": "1"}
		_, answer := k.another(t, future, "--spare", "none")
		require.Equal(t, 1, answer.ProtocolVersion)
	}},
	{"ACP-INIT-004", "The agent has a name and a version.", func(t *testing.T, k *kit) {
		require.NotEmpty(t, k.init.AgentInfo.Name)
		require.NotEmpty(t, k.init.AgentInfo.Version)
	}},
	{"ACP-SESSION-001", "session/new gives an id. acpx: session.new.basic; dart: required.session-new.", func(t *testing.T, k *kit) { require.NotEmpty(t, k.id) }},
	{"ACP-SESSION-002", "Two sessions have two ids.", func(t *testing.T, k *kit) { require.NotEqual(t, k.id, k.other(t)) }},
	{"ACP-PROMPT-001", "A prompt ends with a stop reason. acpx: session.prompt.single_turn, session.prompt.multi_turn.", func(t *testing.T, k *kit) {
		for range 2 {
			require.Equal(t, "end_turn", k.says(t, nil))
		}
	}},
	{"ACP-PROMPT-002", "A turn's updates carry the session's id. acpx: session.update.termination; dart: optional.session.update.chunks.", func(t *testing.T, k *kit) {
		from := k.seen()
		k.says(t, nil)
		chunks := 0
		for _, l := range k.since(from) {
			if u, ok := asUpdate(l); ok {
				require.True(t, k.tells(l), l.raw)
				if u.SessionUpdate == "agent_message_chunk" {
					chunks++
				}
			}
		}
		require.Positive(t, chunks)
	}},
	{"ACP-PROMPT-003", "A link to a resource is taken. acpx: session.prompt.structured_blocks; dart: optional.prompt.resource_link.", func(t *testing.T, k *kit) {
		k.says(t, nil, map[string]any{"type": "resource_link", "uri": "file://" + k.h.work + "/a.txt", "name": "a.txt"})
	}},
	{"acpx:session.prompt.echo_empty", "An empty prompt ends with a stop reason.", func(t *testing.T, k *kit) {
		require.Equal(t, "end_turn", k.prompt("").end(turnLimit).Stop)
	}},
	{"ACP-CANCEL-001", "A cancelled prompt ends as cancelled, and its updates before it (ACP-CANCEL-002). acpx: session.cancel.in_flight, session.cancel.followup_prompt; dart: required.prompt.cancel.", func(t *testing.T, k *kit) {
		turn := k.prompt("long")
		turn.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
		turn.cancelled()
		require.Equal(t, "end_turn", k.says(t, nil))
	}},
	{"ACP-CLIENTCAP-001", "Files, terminals (ACP-CLIENTCAP-002) and forms (-003) are asked of nobody who has not declared them. acpx: errors.permission_denied, permissions.write.approved; dart: required.capabilities.*, optional.tool-calls.*.", func(t *testing.T, k *kit) {
		k.onPermission(allowOnce)
		from := k.seen()
		end := k.prompt("work").end(turnLimit)
		require.Subset(t, []string{"completed"}, end.tools())
		require.Contains(t, end.raw(), `"type":"diff"`)
		require.Contains(t, end.raw(), `"locations"`)
		k.onPermission(rejectOnce)
		require.Contains(t, k.prompt("work").end(turnLimit).tools(), "failed")
		require.Nil(t, k.prompt("question").end(turnLimit).Err)
		for _, l := range k.since(from) {
			for _, asked := range []string{"fs/", "terminal/", "elicitation/"} {
				require.False(t, strings.HasPrefix(l.Method, asked), l.raw)
			}
		}
	}},
	{"ACP-LOAD-001", "session/load succeeds, with an object (ACP-LOAD-003). dart: optional.session.load.", func(t *testing.T, k *kit) {
		require.True(t, k.init.AgentCapabilities.LoadSession)
		result, before := k.loaded(t)
		require.True(t, strings.HasPrefix(string(result), "{"))
		require.Contains(t, kinds(before), "user_message_chunk")
		require.Contains(t, kinds(before), "agent_message_chunk")
	}},
	{"ACP-LOAD-002", "All that a load tells comes before its response, in a process that has the session and in one that opens it.", func(t *testing.T, k *kit) {
		_, before := k.loaded(t)
		require.Contains(t, kinds(before), "available_commands_update")
		k.mustCall("session/close", map[string]any{"sessionId": k.id}, nil)
		_, before = k.loaded(t)
		require.Contains(t, kinds(before), "available_commands_update")
		if k.h.version == newDroid {
			require.Contains(t, kinds(before), "usage_update")
		}
	}},
	{"ACP-RESUME-001", "session/resume succeeds and tells no history (ACP-RESUME-002). Nothing of the session comes before the response.", func(t *testing.T, k *kit) {
		from := k.seen()
		number, l := k.response(k.request("session/resume", k.named(nil)), turnLimit)
		require.Nil(t, l.Error)
		require.True(t, strings.HasPrefix(string(l.Result), "{"))
		for _, l := range k.since(from)[:number-from] {
			require.False(t, k.tells(l), l.raw)
		}
		k.nothing(t, number+1, func(l line) bool {
			u, ok := asUpdate(l)
			return ok && strings.Contains(u.SessionUpdate, "_chunk")
		})
	}},
	{"ACP-LIST-001", "session/list gives an array.", func(t *testing.T, k *kit) {
		var list struct{ Sessions []json.RawMessage }
		k.mustCall("session/list", map[string]any{}, &list)
		require.NotEmpty(t, list.Sessions)
	}},
	{"ACP-LIST-002", "Where there are no sessions the array is empty.", func(t *testing.T, k *kit) {
		result, err := k.call("session/list", map[string]any{"cwd": k.h.dir + "/nowhere"})
		require.Nil(t, err)
		require.JSONEq(t, `{"sessions":[]}`, string(result))
	}},
	{"ACP-DELETE-001", "session/delete succeeds, also for what is not there (ACP-DELETE-002).", func(t *testing.T, k *kit) {
		for _, id := range []string{k.other(t), "kit-never-created", unknownSession} {
			result, err := k.call("session/delete", map[string]any{"sessionId": id})
			require.Nil(t, err)
			require.JSONEq(t, `{}`, string(result))
		}
	}},
	{"ACP-CLOSE-001", "session/close succeeds, and cancels a prompt that runs (ACP-CLOSE-002).", func(t *testing.T, k *kit) {
		s := session{k.client, k.opens(t)}
		turn := s.prompt("long")
		turn.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
		result, err := k.call("session/close", map[string]any{"sessionId": s.id})
		require.Nil(t, err)
		require.JSONEq(t, `{}`, string(result))
		require.Equal(t, "cancelled", turn.end(turnLimit).Stop)
	}},
	{"ACP-ADDDIRS-001", "Another directory is taken.", func(t *testing.T, k *kit) {
		k.mustCall("session/new", k.params(map[string]any{"additionalDirectories": []string{k.h.dir}}), nil)
	}},
	{"ACP-MODES-001", "The mode is one of those that there are.", func(t *testing.T, k *kit) {
		require.NotEmpty(t, k.created.Modes.AvailableModes)
		require.Contains(t, k.created.Modes.AvailableModes, struct{ ID string }{k.created.Modes.CurrentModeID})
	}},
	{"ACP-MODES-002", "session/set_mode succeeds. dart: optional.modes.set.", func(t *testing.T, k *kit) {
		for _, mode := range []string{"spec", k.created.Modes.CurrentModeID} {
			k.mustCall("session/set_mode", map[string]any{"sessionId": k.id, "modeId": mode}, nil)
		}
	}},
	{"ACP-CONFIG-001", "An option's value is one that it may have, and none is boolean for a client that has not declared them (ACP-CONFIG-003).", func(t *testing.T, k *kit) {
		require.NotEmpty(t, k.created.ConfigOptions)
		for _, o := range k.created.ConfigOptions {
			require.Equal(t, "select", o.Type, o.ID)
			require.Contains(t, o.values(), o.CurrentValue, o.ID)
		}
	}},
	{"ACP-CONFIG-002", "Setting an option is answered by all of them.", func(t *testing.T, k *kit) {
		for _, o := range k.created.ConfigOptions {
			value := o.values()[len(o.values())-1]
			var answer opened
			k.mustCall("session/set_config_option", map[string]any{"sessionId": k.id, "configId": o.ID, "value": value}, &answer)
			require.GreaterOrEqual(t, len(answer.ConfigOptions), len(k.created.ConfigOptions))
			for _, now := range answer.ConfigOptions {
				if now.ID == o.ID {
					require.Equal(t, value, now.CurrentValue, o.ID)
				}
			}
			k.mustCall("session/set_config_option", map[string]any{"sessionId": k.id, "configId": o.ID, "value": o.CurrentValue}, nil)
		}
	}},
	{"ACP-PROMPTCAP-001", "A client may send the pictures, sounds (ACP-PROMPTCAP-002) and files (-003) that the agent takes. dart: optional.prompt.image, optional.prompt.audio, optional.prompt.resource.embedded.", func(t *testing.T, k *kit) {
		takes := k.init.AgentCapabilities.PromptCapabilities
		require.True(t, takes.Image && takes.EmbeddedContext && !takes.Audio, "droid takes no sound")
		k.says(t, nil, map[string]any{"type": "image", "mimeType": "image/png", "data": base64.StdEncoding.EncodeToString(onePixel)})
		k.says(t, nil, map[string]any{"type": "resource", "resource": map[string]any{"uri": "file://" + k.h.work + "/b.txt", "text": "b"}})
		k.refused(t, codeParams, "session/prompt", map[string]any{"sessionId": k.id, "prompt": []any{map[string]any{"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}}})
	}},
	{"ACP-AUTH-001", "The ids of ways to log in differ; none needs a terminal where the client has none (ACP-AUTH-002); session/new wants no login where there is a model without one (ACP-AUTH-005).", func(t *testing.T, k *kit) {
		ids := map[string]bool{}
		for _, m := range k.init.AuthMethods {
			require.False(t, ids[m.ID], m.ID)
			require.NotEqual(t, "terminal", m.Type)
			ids[m.ID] = true
		}
		require.NotEmpty(t, k.id)
	}},
	{"ACP-EXT-001", "A request of an unknown extension is answered.", func(t *testing.T, k *kit) { k.refused(t, codeMethod, "_kit/other", map[string]any{"a": 1}) }},
	{"ACP-META-001", "_meta is taken.", func(t *testing.T, k *kit) {
		k.says(t, map[string]any{"traceparent": "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01"})
	}},
	{"ACP-INFO-PARSE-001", "A line that is no JSON is answered so, and the connection goes on.", func(t *testing.T, k *kit) { k.lost(t, "{nothing", codeParse) }},
	{"ACP-INFO-INVALIDREQ-001", "JSON that is no message is not answered, as two that answer each other's answers never end, and the connection goes on.", func(t *testing.T, k *kit) { k.lost(t, `{"foo":"bar"}`, 0) }},
	{"ACP-INFO-UNKNOWNSESSION-001", "A session that nobody made is an error. acpx: errors.unknown_session.", func(t *testing.T, k *kit) {
		k.refused(t, codeSession, "session/prompt", map[string]any{"sessionId": unknownSession, "prompt": []any{text("hello")}})
	}},
	{"ACP-ERROR-001", "An error's message is one line.", func(t *testing.T, k *kit) {
		errs := 0
		for _, l := range k.since(0) {
			if l.Error != nil {
				errs++
				require.NotEmpty(t, l.Error.Message)
				require.NotContains(t, l.Error.Message, "\n")
			}
		}
		require.Positive(t, errs)
	}},
	{"ACP-TRANSPORT-001", "Each line is a message of JSON-RPC 2.0 and of UTF-8 (ACP-TRANSPORT-002), with a result or an error, and follows ACP's schema (ACP-SCHEMA-001) without fields of its own beside models and usage (ACP-SCHEMA-002): clients read these two though they have left the schema.", func(t *testing.T, k *kit) {
		for _, l := range k.since(0) {
			var m map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(l.raw), &m))
			require.JSONEq(t, `"2.0"`, string(m["jsonrpc"]))
			require.True(t, utf8.ValidString(l.raw))
			if l.Method == "" {
				require.True(t, (m["result"] == nil) != (m["error"] == nil), l.raw)
			}
		}
		require.NoError(t, k.schemaError(), "what the client found wrong in a line")
	}},
	{"ACP-SHUTDOWN-001", "The agent ends when its stdin does, and says nothing on stderr (ACP-STDERR-001).", func(t *testing.T, k *kit) {
		c, _ := k.another(t, bare(1))
		c.mustCall("session/new", map[string]any{"cwd": c.cmd.Dir, "mcpServers": []any{}}, nil)
		begin := time.Now()
		require.NoError(t, c.stdin.Close())
		<-c.exited
		require.Less(t, time.Since(begin), 15*time.Second, "0.1 s on an idle machine")
		require.Empty(t, c.stderr.String())
	}},
}

// lost sends an invalid line. It must be answered by an error of this code without an ID, or not at all for 0.
func (k *kit) lost(t *testing.T, raw string, code int) {
	from := k.seen()
	_, err := k.stdin.Write([]byte(raw + "\n"))
	require.NoError(t, err)
	if code == 0 {
		k.nothing(t, from, isResponse)
	} else {
		_, l := k.await("an answer", from, turnLimit, isResponse)
		require.Equal(t, "null", string(l.ID))
		require.Equal(t, code, l.Error.Code)
	}
	k.goesOn()
}

// goesOn checks that the connection still works.
func (k *kit) goesOn() { k.mustCall("session/list", map[string]any{}, nil) }

// schemaError returns the error that the client found in a line, by repeating the conversation.
func (k *kit) schemaError() error {
	if k.t.Failed() {
		return errors.New("see above")
	}
	return nil
}

// kinds returns the kinds of updates.
func kinds(updates []update) (kinds []string) {
	for _, u := range updates {
		kinds = append(kinds, u.SessionUpdate)
	}
	return kinds
}

// raw returns all updates of a turn.
func (e ending) raw() string {
	var b strings.Builder
	for _, u := range e.Updates {
		b.WriteString(u.raw)
	}
	return b.String()
}

// onePixel is a PNG of one pixel.
var onePixel, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
