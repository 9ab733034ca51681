package stream

import (
	"bytes"
	"encoding/json"
)

// MaxLine is how long a line of droid's may be, in bytes. Longer ones are not read; 6.8 MB
// is the longest that was seen.
const MaxLine = 256 << 20

// Lost is a line of droid's that was not read because it is longer than MaxLine. Of
// a request that droid waits on, the answer was an error, which refuses it. (The
// caller of a method whose response is lost gets an *RPCError instead.)
type Lost struct {
	Type string // of the event, as Event.Kind has it; "" when its beginning does not say
	Size int64  // of the line, in bytes
}

// Kind implements Event.
func (Lost) Kind() string { return "lost" }

// Beginning is what the beginning of a line tells of the whole.
type Beginning struct {
	ID       json.RawMessage // of a request or response, nil when it is not known
	Response bool            // it answers a request; else it is droid's own word
	Kind     string          // of the event, as Event.Kind has it; "" when it is not known
}

// ReadBeginning reads the beginning of a line that is too long to be read. droid
// orders what it writes so that what it is stands first (0.99 to 0.225).
func ReadBeginning(head []byte) Beginning {
	f, kind := readHead(head)
	return Beginning{ID: bytes.Clone(f.id), Response: f.method == nil, Kind: kind}
}

// readHead takes the beginning of a line apart, and finds the kind of its event.
func readHead(head []byte) (f frame, kind string) {
	fields, _ := scanFields(head)
	for name, value, ok := fields.next(); ok; name, value, ok = fields.next() {
		switch string(name) {
		case "id":
			f.id = value
		case "method":
			f.method = value
			kind = KindOf(unquote(value))
		case "params":
			f.params = value
		}
	}
	if string(inner(f.method)) != methodNotification {
		return f, kind
	}
	params, _ := scanFields(f.params)
	for name, value, ok := params.next(); ok; name, value, ok = params.next() {
		if string(name) == "notification" {
			body, _ := scanFields(value)
			for name, value, ok := body.next(); ok; name, value, ok = body.next() {
				if string(name) == "type" {
					return f, unquote(value)
				}
			}
		}
	}
	return f, ""
}
