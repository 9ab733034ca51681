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
		if text, is := text(node); is {
			if to := f(text); to != text {
				return encoded(to)
			}
		}
		return node
	}
	if steps[0] == "[]" {
		var list []json.RawMessage
		if json.Unmarshal(node, &list) != nil {
			return node
		}
		changed := false
		for i := range list {
			changed = into(&list[i], steps, f) || changed
		}
		return chosen(changed, list, node)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(node, &fields) != nil {
		return node
	}
	name, beside, _ := strings.Cut(steps[0], "@")
	changed := false
	for key, value := range fields {
		if (key == name || name == "*") && isTool(fields, beside) && into(&value, steps, f) {
			fields[key], changed = value, true
		}
	}
	return chosen(changed, fields, node)
}

// into walks on in a part, and reports whether that changes.
func into(part *json.RawMessage, steps []string, f func(string) string) bool {
	before := *part
	*part = walk(before, steps[1:], f)
	return !bytes.Equal(before, *part)
}

func chosen(changed bool, value any, node json.RawMessage) json.RawMessage {
	if !changed {
		return node
	}
	return encoded(value)
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
