package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"droid-acp/internal/droid/stream"
)

// nameValues reads the env or the headers of a server: a list of names and values as
// ACP has it, or an object, as CodeCompanion 19 sends what its users wrote. wrong says
// what else it is.
func nameValues(raw json.RawMessage) (list []stream.MCPHeader, wrong string) {
	raw = bytes.TrimSpace(raw)
	if !bytes.HasPrefix(raw, []byte("{")) {
		if len(raw) == 0 {
			return nil, ""
		}
		err := json.Unmarshal(raw, &list)
		return list, jsonType(err)
	}
	var object map[string]string
	if wrong := jsonType(json.Unmarshal(raw, &object)); wrong != "" {
		return nil, wrong
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		list = append(list, stream.MCPHeader{Name: name, Value: object[name]})
	}
	return list, ""
}

// jsonType says of what JSON type a value, or one in it, wrongly is; "" without an error.
func jsonType(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &wrong):
		return err.Error()
	case wrong.Type.Kind().String() == "slice":
		return "it is of the JSON type " + wrong.Value
	}
	return "one is of the JSON type " + wrong.Value
}
