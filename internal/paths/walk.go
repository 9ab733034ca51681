package paths

import (
	"bytes"
	"encoding/json"
	"strings"
)

// What stands at a place that names a file.
const (
	File    = ""        // a path
	URI     = "uri"     // a URI, which may be one of a file
	Program = "program" // a path, or a name that is looked for in the PATH
	Patch   = "patch"   // a patch in droid's form, which names files
)

// Walk calls f with each text that stands at one of the places in a message, and returns
// the message with what f returns in its place; what f leaves as it is stays byte for byte.
//
// Places are divided by spaces. Each is the names of fields, divided by points, and what
// stands there behind a colon: "mcpServers[].command:program". A "[]" behind a name means
// each element of a list, "*" each field of an object. With "input@name" the field "input"
// counts only where the field "name" beside it is the name of a tool of droid's own, since
// those of MCP servers give paths of anywhere; with "input@name=X" where it is X. What is of
// another type than expected is left alone.
func Walk(message json.RawMessage, places string, f func(place, kind, value string) string) json.RawMessage {
	for _, place := range strings.Fields(places) {
		where, kind, _ := strings.Cut(place, ":")
		steps := strings.Split(strings.ReplaceAll(where, "[]", ".[]"), ".")
		message = walk(message, steps, func(value string) string { return f(where, kind, value) })
	}
	return message
}

// Blocks are the places in the content of droid's messages, behind the list of blocks.
func Blocks(list string) string { return Input(list+".input@name") + list + ".source.path " }

// Input are the places in the input of a call of droid's own tools (0.99 to 0.225), in the
// field that this names, as "input@name".
func Input(field string) string {
	return field + ".file_path " + field + ".path " + field + ".directory_path " + field + ".folder " + field + "=ApplyPatch.input:patch "
}

func walk(node json.RawMessage, steps []string, f func(string) string) json.RawMessage {
	if len(steps) == 0 {
		if was, is := text(node); is {
			if to := f(was); to != was {
				return encoded(to)
			}
		}
		return node
	}
	changed := false
	into := func(part json.RawMessage) json.RawMessage {
		next := walk(part, steps[1:], f)
		changed = changed || !bytes.Equal(part, next)
		return next
	}
	var list []json.RawMessage
	var fields map[string]json.RawMessage
	if steps[0] == "[]" {
		_ = json.Unmarshal(node, &list) // what is no list has no elements
		for i, part := range list {
			list[i] = into(part)
		}
	} else {
		_ = json.Unmarshal(node, &fields) // and what is no object no fields
		name, beside, _ := strings.Cut(steps[0], "@")
		for key, part := range fields {
			if (key == name || name == "*") && isTool(fields, beside) {
				fields[key] = into(part)
			}
		}
	}
	switch {
	case !changed:
		return node
	case list != nil:
		return encoded(list)
	}
	return encoded(fields)
}

// isTool reports whether the condition behind an "@" holds; "" always does.
func isTool(fields map[string]json.RawMessage, condition string) bool {
	field, want, exact := strings.Cut(condition, "=")
	name, is := text(fields[field])
	return condition == "" || is && (exact && name == want || !exact && !strings.Contains(name, "___"))
}

// text is a JSON string.
func text(node json.RawMessage) (s string, is bool) {
	return s, bytes.HasPrefix(bytes.TrimSpace(node), []byte{'"'}) && json.Unmarshal(node, &s) == nil
}

func encoded(value any) json.RawMessage {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // texts and what was decoded can be encoded
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'})
}
