package via

import (
	"encoding/json"

	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/rawjson"
)

// outside is a path that is outside of every map.
type outside struct{ place, path string }

// rewrite puts the other side's paths in the places of what begins at begin in the line. It
// returns the first that is outside of every map, and stays as it is; nil where there is none.
func (m Maps) rewrite(to int, line []byte, begin int, places *paths.Places) (_ []byte, first *outside) {
	if len(m) == 0 {
		return line, nil
	}
	line = places.Rewrite(line, begin, func(place, kind string, value []byte) []byte {
		if !rawjson.IsString(value) || kind == paths.Command {
			return nil // of another type than paths are, it is none
		}
		path := rawjson.Unquote(value)
		is, ok := m.translate(to, kind, path)
		if !ok && first == nil {
			first = &outside{place, path}
		}
		if is == path {
			return nil
		}
		text, _ := json.Marshal(is) // a string always encodes
		return text
	})
	return line, first
}

// ofHere makes what the far side says how a program of its own is started into how that is
// done from here: by the command of the relay, which runs it there, with the arguments
// behind. What is of another form is left out.
func ofHere(command []string, value []byte) []byte {
	fields, args := map[string]json.RawMessage{}, []string{}
	if json.Unmarshal(value, &fields) != nil || fields["args"] != nil && json.Unmarshal(fields["args"], &args) != nil {
		return []byte("null")
	}
	fields["command"], _ = json.Marshal(command[0])
	fields["args"], _ = json.Marshal(append(command[1:len(command):len(command)], args...)) // texts always encode
	if fields["env"] != nil {
		fields["env"] = []byte("{}") // it would be that of the command
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return []byte("null")
	}
	return text
}
