package stream

import (
	"bytes"
	"encoding/json"

	"droid-acp/internal/text/rawjson"
)

// MaxLine is how long a line of droid's may be, in bytes. Longer ones are skipped; the
// longest that was seen has 6.8 MB.
const MaxLine = 256 << 20

// Lost is a line of droid's that was skipped because it is longer than MaxLine. If
// it was a request, droid got an error as the answer, which refuses it. (A lost
// response is no event: the call that it answers returns an *RPCError.)
type Lost struct {
	Type string // of the event, as Event.Kind has it; "" when its beginning does not say
	Size int64  // of the line, in bytes
}

// LineHead is what the beginning of a line tells of the whole.
type LineHead struct {
	ID       json.RawMessage // of a request or response, nil when it is not known
	Response bool            // the line answers a request of ours
	Kind     string          // of the event, as Event.Kind has it; "" when it is not known
}

// ReadLineHead reads the beginning of a line that is too long to be read. droid
// writes the fields that say what a line is first (0.99 to 0.225).
func ReadLineHead(head []byte) LineHead {
	f, kind := readHead(head)
	return LineHead{ID: bytes.Clone(f.id), Response: f.method == nil, Kind: kind}
}

// readHead takes the beginning of a line apart, and finds the kind of its event.
func readHead(head []byte) (f frame, kind string) {
	for name, value := range rawjson.Fields(head) {
		switch string(name) {
		case "id":
			f.id = value
		case "method":
			f.method = value
			kind = KindOf(rawjson.Unquote(value))
		case "params":
			f.params = value
		}
	}
	if string(inner(f.method)) != methodNotification {
		return f, kind
	}
	return f, rawjson.Unquote(rawjson.Field(rawjson.Field(f.params, "notification"), "type"))
}
