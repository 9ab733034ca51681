package serve

import (
	"bytes"
	"encoding/json"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/rawjson"
)

// A client that joins a session may say which values options are to have first, as when it opens one. The agent, which does not hear of its
// request, is asked for each. One that it refuses is dropped, and so are all while the session works: they would wait for the end of the turn.

// firstValue is an entry of configOptions.
type firstValue struct {
	ID    string          `json:"configId"`
	Type  json.RawMessage `json:"type"`
	Value json.RawMessage `json:"value"`
}

// joinWithValues is join for a request that may have values.
func (o *session) joinWithValues(c *Client, request []byte, h jsonrpc.Head, note string) {
	var values []firstValue
	_ = json.Unmarshal(rawjson.Field(paramsOf(request, h), "configOptions"), &values) // of another form there are none
	for _, v := range values {
		if kind := string(v.Type); kind != "" && kind != "null" && kind != `"select"` && kind != `"boolean"` {
			c.refuse(h.ID, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params", "configOptions has a type that this agent does not know: "+kind))
			return
		}
	}
	if len(values) == 0 || o.working {
		o.join(c, request, h, note)
		return
	}
	o.changing = true // what the client sends behind its request waits
	line := bytes.Clone(request)
	o.setValues(values, func() {
		h, _ := jsonrpc.ReadHead(line)
		if o.server.sessions[o.id] != o {
			c.receive(line, h) // it has ended
			return
		}
		if !c.gone {
			o.join(c, line, h, note)
		}
		o.finishChange()
	})
}

// setValues has the agent set values, one after the other, and then calls done.
func (o *session) setValues(values []firstValue, done func()) {
	if len(values) == 0 {
		done()
		return
	}
	v := values[0]
	params := map[string]any{"sessionId": o.id, "configId": v.ID, "value": v.Value}
	if len(v.Type) > 0 {
		params["type"] = v.Type
	}
	o.agent.ask("session/set_config_option", params, func(result []byte, _ error) {
		if result != nil {
			o.broadcastOption(nil, result)
		}
		o.setValues(values[1:], done)
	})
}
