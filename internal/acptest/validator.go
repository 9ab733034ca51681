// Package acptest checks messages of an ACP agent against the protocol's JSON
// schema. It is for tests.
package acptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Validator knows the schema of ACP version 1.
type Validator struct {
	params  map[string]*jsonschema.Schema // of the agent's requests and notifications, by method
	results map[string]*jsonschema.Schema // of its responses, by the method of the request
	failure *jsonschema.Schema
	update  *jsonschema.Schema // strict: no other fields than the schema's
	call    *jsonschema.Schema // strict, the tool call of a permission request
}

// location is how the schema is called within the compiler.
const location = "acp.json"

// Load reads the schema from a file.
func Load(path string) (*Validator, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(location, doc); err != nil {
		return nil, err
	}
	methods, err := methodsOf(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	v := &Validator{params: map[string]*jsonschema.Schema{}, results: map[string]*jsonschema.Schema{}}
	compile := func(name string) *jsonschema.Schema {
		s, compileErr := c.Compile(location + "#/$defs/" + name)
		err = errors.Join(err, compileErr)
		return s
	}
	for _, m := range methods {
		if m.response {
			v.results[m.method] = compile(m.name)
		} else {
			v.params[m.method] = compile(m.name)
		}
	}
	v.failure = compile("Error")
	strict := func(name string) *jsonschema.Schema {
		where := "strict-" + name + ".json"
		err = errors.Join(err, c.AddResource(where, map[string]any{"$ref": location + "#/$defs/" + name, "unevaluatedProperties": false}))
		s, compileErr := c.Compile(where)
		err = errors.Join(err, compileErr)
		return s
	}
	v.update, v.call = strict("SessionUpdate"), strict("ToolCallUpdate")
	if err != nil {
		return nil, fmt.Errorf("compiling %s: %w", path, err)
	}
	return v, nil
}

// definition is a message that the schema defines.
type definition struct {
	name, method string
	response     bool // of the agent; else params that it sends
}

// methodsOf finds what an agent sends: params of the client's methods, results
// of its own. The schema names them in x-method and x-side.
func methodsOf(schema []byte) ([]definition, error) {
	var doc struct {
		Defs map[string]struct {
			Method string `json:"x-method"`
			Side   string `json:"x-side"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(schema, &doc); err != nil {
		return nil, err
	}
	var out []definition
	for name, d := range doc.Defs {
		response := bytes.HasSuffix([]byte(name), []byte("Response"))
		switch {
		case d.Method == "":
		case d.Side == "agent" && response, d.Side != "agent" && !response:
			out = append(out, definition{name, d.Method, response})
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the schema names no methods")
	}
	return out, nil
}

// Check validates one line of an agent. answered is the method of the request
// that a response answers, "" when it is not known.
func (v *Validator) Check(line []byte, answered string) error {
	var m struct {
		JSONRPC string
		Method  string
		Params  json.RawMessage
		Result  json.RawMessage
		Error   json.RawMessage
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	switch {
	case m.JSONRPC != "2.0":
		return fmt.Errorf("jsonrpc is %q", m.JSONRPC)
	case m.Error != nil:
		return validate(v.failure, m.Error, "the error")
	case m.Method == "" && answered == "":
		return nil
	case m.Method == "":
		schema, ok := v.results[answered]
		if !ok {
			return nil // a method that is not stable yet
		}
		return validate(schema, m.Result, "the result of "+answered)
	}
	schema, ok := v.params[m.Method]
	if !ok && m.Method == "_auth/status_update" { // by which the adapters of other agents tell, too
		return nil
	}
	if !ok {
		return fmt.Errorf("the schema has no method %s of a client", m.Method)
	}
	return errors.Join(validate(schema, m.Params, m.Method), v.checkStrictly(m.Params))
}

// checkStrictly refuses fields of our own in what is sent most.
func (v *Validator) checkStrictly(params json.RawMessage) error {
	var p struct {
		Update   json.RawMessage
		ToolCall json.RawMessage
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	var err error
	if p.Update != nil {
		err = validate(v.update, p.Update, "the update, strictly")
	}
	if p.ToolCall != nil {
		err = errors.Join(err, validate(v.call, p.ToolCall, "the tool call, strictly"))
	}
	return err
}

func validate(schema *jsonschema.Schema, raw json.RawMessage, what string) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
