package acptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema is one file of the protocol's schema, closed: unnamed fields and values reserved for the future are errors.
type schema struct {
	params  map[string]*jsonschema.Schema // of the agent's requests and notifications, by method
	results map[string]*jsonschema.Schema // of its responses, by the method of the request
	defs    map[string]*jsonschema.Schema // further requested definitions
}

// location is the name of the schema in the compiler.
const location = "acp.json"

// loadSchema reads and closes a schema. extra are further requested definitions.
func loadSchema(path string, extra ...string) (*schema, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	closeAll(doc)
	c := jsonschema.NewCompiler()
	if err := c.AddResource(location, doc); err != nil {
		return nil, err
	}
	methods, err := methodsOf(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	s := &schema{params: map[string]*jsonschema.Schema{}, results: map[string]*jsonschema.Schema{}, defs: map[string]*jsonschema.Schema{}}
	compile := func(name string) *jsonschema.Schema {
		where := "closed-" + name + ".json"
		err = errors.Join(err, c.AddResource(where, map[string]any{"$ref": location + "#/$defs/" + name, "unevaluatedProperties": false}))
		closed, compileErr := c.Compile(where)
		err = errors.Join(err, compileErr)
		return closed
	}
	for _, m := range methods {
		if m.response {
			s.results[m.method] = compile(m.name)
		} else {
			s.params[m.method] = compile(m.name)
		}
	}
	for _, name := range extra {
		s.defs[name] = compile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("compiling %s: %w", path, err)
	}
	return s, nil
}

// definition is a message defined by the schema.
type definition struct {
	name, method string
	response     bool // it is a response of the agent; otherwise params that it sends
}

// methodsOf finds the messages that an agent sends: params of the client's methods, results of the agent's. The schema names the methods in
// x-method and x-side.
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
		response := strings.HasSuffix(name, "Response")
		switch {
		case d.Method == "" || d.Side == "proxy":
		case d.Side == "agent" && response, d.Side != "agent" && !response:
			out = append(out, definition{name, d.Method, response})
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the schema names no methods")
	}
	return out, nil
}

// closeAll closes all definitions of a schema.
func closeAll(doc any) {
	root, _ := doc.(map[string]any)
	defs, _ := root["$defs"].(map[string]any)
	c := closer{defs}
	for _, d := range defs {
		c.close(d, false)
	}
}

// closer makes a schema stricter: what is left open for later versions of the protocol must not be sent by this agent.
type closer struct{ defs map[string]any }

// close closes a part of the schema. value says that the part describes a whole value, not only some of its fields.
func (c closer) close(node any, value bool) {
	s, ok := node.(map[string]any)
	if !ok {
		return
	}
	for _, of := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := s[of].([]any)
		var kept []any
		for _, b := range branches {
			if b = narrowed(b); b != nil {
				c.close(b, false)
				kept = append(kept, b)
			}
		}
		if kept != nil {
			s[of] = kept
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for _, p := range properties {
		c.close(p, true)
	}
	c.close(s["items"], true)
	c.close(s["additionalProperties"], true)
	if value && s["additionalProperties"] == nil && c.hasFields(s, map[string]bool{}) {
		s["unevaluatedProperties"] = false
	}
}

// narrowed returns a branch without the values reserved for the future: only the listed values and, for strings, those that begin with "_",
// which anyone may use.
func narrowed(branch any) any {
	s, _ := branch.(map[string]any)
	title, _ := s["title"].(string)
	switch {
	case !strings.EqualFold(title, "other"):
		return branch
	case s["type"] == "string":
		return map[string]any{"type": "string", "pattern": "^_"}
	}
	return nil
}

// hasFields reports whether a part of a schema names fields anywhere.
func (c closer) hasFields(s map[string]any, seen map[string]bool) bool {
	if s["properties"] != nil {
		return true
	}
	if ref, ok := s["$ref"].(string); ok && !seen[ref] {
		seen[ref] = true
		d, _ := c.defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		if c.hasFields(d, seen) {
			return true
		}
	}
	for _, of := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := s[of].([]any)
		for _, b := range branches {
			if b, ok := b.(map[string]any); ok && c.hasFields(b, seen) {
				return true
			}
		}
	}
	return false
}

// validate checks a piece of a message against a schema.
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
