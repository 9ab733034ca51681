// Package acptest checks an ACP agent's messages against the protocol's JSON schema. Its main types are Validator, the schema, and
// Conversation, the messages to one client; tests of the adapter and the e2e tests check every line of the agent with it. Peer plays the
// other end of a conversation.
package acptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Validator has the schema of ACP version 1, stable and unstable, and of what this agent sends in addition.
type Validator struct{ stable, unstable, outside *schema }

// Load reads the schema from the files in a directory: schema.json, schema.unstable.json, and outside.json for what clients use that is in
// neither.
func Load(dir string) (*Validator, error) {
	stable, err := loadSchema(filepath.Join(dir, "schema.json"), "Error")
	unstable, unstableErr := loadSchema(filepath.Join(dir, "schema.unstable.json"))
	outside, outsideErr := loadSchema(filepath.Join(dir, "outside.json"), "SessionModelState", "AsyncTaskPush", "SubagentPush")
	if err := errors.Join(err, unstableErr, outsideErr); err != nil {
		return nil, err
	}
	return &Validator{stable, unstable, outside}, nil
}

// message is a JSON-RPC line.
type message struct {
	JSONRPC string
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Error   json.RawMessage
}

// check validates one line of the agent to a client with these capabilities. answered is the method of the answered request, "" if unknown.
func (v *Validator) check(line []byte, capabilities client, answered string) error {
	m, err := parse(line)
	switch {
	case err != nil:
		return err
	case m.Error != nil:
		return validate(v.stable.defs["Error"], m.Error, "the error")
	case m.Method == "":
		if answered == "" {
			return nil
		}
		return errors.Join(v.checkResult(m.Result, answered), capabilities.allowResult(m.Result))
	}
	return errors.Join(v.checkParams(m, capabilities), capabilities.allow(m))
}

// parse decodes a message and checks that it is valid JSON-RPC 2.0.
func parse(line []byte) (m message, err error) {
	var fields map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(line, &fields), json.Unmarshal(line, &m)); err != nil {
		return m, err
	}
	for name := range fields {
		if !slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"}, name) {
			return m, fmt.Errorf("JSON-RPC has no field %q", name)
		}
	}
	count := 0
	for _, name := range []string{"method", "result", "error"} {
		if fields[name] != nil {
			count++
		}
	}
	id := string(fields["id"])
	null := id == "" || id == "null"
	switch {
	case m.JSONRPC != "2.0":
		return m, fmt.Errorf("jsonrpc is %q", m.JSONRPC)
	case count != 1:
		return m, errors.New("a message has one of method, result and error")
	case m.Method == "" && (id == "" || null && m.Error == nil):
		return m, errors.New("a response has the id of its request")
	case !null && id[0] != '"' && !wholeNumber(id):
		return m, fmt.Errorf("the id %s is neither text nor a whole number", id)
	case m.Method != "" && id == "null":
		return m, errors.New("a request's id is null")
	case m.Method != "" && !relayed(m.Method) && (id != "") != isRequest(m.Method):
		return m, fmt.Errorf("%s is a request: %t; it has the id %q", m.Method, isRequest(m.Method), id)
	}
	return m, nil
}

func wholeNumber(id string) bool {
	var n int64
	return json.Unmarshal([]byte(id), &n) == nil
}

// relayed reports whether a method is one of droid, which is passed on unchanged during droid's login.
func relayed(method string) bool { return strings.HasPrefix(method, "_factory/") }

// isRequest reports whether a method of the client is a request.
func isRequest(method string) bool {
	return !slices.Contains([]string{"session/update", "$/cancel_request", "elicitation/complete", "auth/status_update"}, method) &&
		!strings.HasPrefix(method, "_")
}

// checkResult validates a result against the stable schema, the unstable one if the method or a part of its result is not stable yet, or
// outside.
func (v *Validator) checkResult(result json.RawMessage, answered string) error {
	what := "the result of " + answered
	if strings.HasPrefix(answered, "_") {
		return nil // an extension of this agent
	}
	if s := v.outside.results[answered]; s != nil {
		return validate(s, result, what)
	}
	if result, answered = newerResult(result, answered); answered == "" {
		return fmt.Errorf("%s is told and has another form than an object", what)
	}
	result, err := v.withoutModels(result)
	if err != nil {
		return err
	}
	s := v.stable.results[answered]
	if s == nil || slices.Contains(tellsUnstable, answered) {
		s = v.unstable.results[answered]
	}
	if s == nil {
		return fmt.Errorf("%s is told, but neither schema has the method", what)
	}
	return validate(s, result, what)
}

// newerResult returns a result as the schemas have it, which are older than session/options and its capability (1.32): its result has the
// fields of that of session/new but the id. The agent's capability of Air's draft of subagents is in neither.
func newerResult(result json.RawMessage, answered string) (json.RawMessage, string) {
	var fields, agent, sessions map[string]json.RawMessage
	if answered != "session/options" && answered != "initialize" {
		return result, answered
	}
	if json.Unmarshal(result, &fields) != nil {
		return nil, ""
	}
	if answered == "session/options" {
		fields["sessionId"], answered = json.RawMessage(`"new"`), "session/new"
	} else if json.Unmarshal(fields["agentCapabilities"], &agent) == nil && json.Unmarshal(agent["sessionCapabilities"], &sessions) == nil && string(sessions["options"]) == "{}" {
		delete(sessions, "options")
		delete(sessions, "subagents")                            // see client.allowResult
		agent["sessionCapabilities"], _ = json.Marshal(sessions) // it was decoded from JSON
		fields["agentCapabilities"], _ = json.Marshal(agent)
	}
	result, _ = json.Marshal(fields)
	return result, answered
}

// tellsUnstable are stable methods whose results may have unstable fields without a capability of the client: capabilities such as that of
// session/fork, the usage of a prompt, and whether a listed session is archived.
var tellsUnstable = []string{"initialize", "session/prompt", "session/list"}

// withoutModels checks and removes the field "models", which clients still read from the results that open a session. It was removed from
// the schema.
func (v *Validator) withoutModels(result json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(result, &fields) != nil || fields["models"] == nil || fields["modes"] == nil {
		return result, nil
	}
	if err := validate(v.outside.defs["SessionModelState"], fields["models"], "models"); err != nil {
		return nil, err
	}
	delete(fields, "models")
	return json.Marshal(fields)
}

// checkParams validates params sent by the agent. Params in the unstable schema only require a capability that is in that schema only.
func (v *Validator) checkParams(m message, c client) error {
	if relayed(m.Method) {
		return nil
	}
	if s := v.outside.params[m.Method]; s != nil {
		return validate(s, m.Params, m.Method)
	}
	switch update := read(m.Params).Update.SessionUpdate; {
	case strings.HasPrefix(update, "async_task_"):
		return validate(v.outside.defs["AsyncTaskPush"], m.Params, "an async task")
	case isAirSubagent(update):
		return validate(v.outside.defs["SubagentPush"], m.Params, "a subagent for Air")
	}
	s := v.stable.params[m.Method]
	if s == nil || c.wantsUnstable(m) {
		s = v.unstable.params[m.Method]
	}
	if s == nil {
		return fmt.Errorf("the schema has no method %s of a client", m.Method)
	}
	if len(bytes.TrimSpace(m.Params)) == 0 {
		return fmt.Errorf("%s has no params", m.Method)
	}
	return validate(s, m.Params, m.Method)
}
