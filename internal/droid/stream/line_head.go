package stream

import (
	"bytes"
	"encoding/json"

	"droid-acp/internal/text/rawjson"
)

// MaxLine is the maximum length of a line of droid, in bytes. Longer ones are skipped; the longest observed has 6.8 MB.
const MaxLine = 256 << 20

// Lost is a line of droid that was skipped because it is longer than MaxLine. If it was a request, it was answered with an error, which
// refuses it. (A lost response is not an event: its call returns an *RPCError.)
type Lost struct {
	Type string // of the event, as in Event.Kind; "" if its beginning does not contain it
	Size int64  // of the line, in bytes
}

// LineHead is the information in the beginning of a line.
type LineHead struct {
	ID       json.RawMessage // of a request or response, nil if unknown
	Response bool            // the line answers a request to droid
	Kind     string          // of the event, as in Event.Kind; "" if unknown
}

// ReadLineHead parses the beginning of a line that is too long. droid writes the fields that identify a line first (0.99 to 0.225).
func ReadLineHead(head []byte) LineHead {
	f, kind := readHead(head)
	return LineHead{ID: bytes.Clone(f.id), Response: f.method == nil, Kind: kind}
}

// readHead splits the beginning of a line into its fields, and finds the kind of its event.
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
