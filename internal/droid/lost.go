package droid

import (
	"bytes"
	"fmt"

	"go.uber.org/zap"
)

// Lost is a line of droid's that was not read because it is longer than MaxLine. Of
// a request that droid waits on, the answer was an error, which refuses it. (The
// caller of a method whose response is lost gets an *RPCError instead.)
type Lost struct {
	Type string // of the event, as Event.Kind has it; "" when its beginning does not say
	Size int64  // of the line, in bytes
}

// Kind implements Event.
func (Lost) Kind() string { return "lost" }

// MaxLine is how long a line of droid's may be, in bytes.
const MaxLine = maxLine

// lost answers and tells of a line that was skipped, as far as its beginning says
// what it was.
func (c *Client) lost(line *lineTooLong) {
	c.stats.lines.Add(1)
	c.stats.malformed.Add(1)
	f, kind := headOf(line.head)
	c.log.Warn("droid wrote a line that is too long; it is lost", zap.Int64("bytes", line.size), zap.String("type", kind))
	id := unquote(f.id)
	switch {
	case id != "" && f.method == nil:
		c.respond(&Response{ID: id, Err: &RPCError{Code: codeInternal,
			Message: fmt.Sprintf("droid's answer of %.1f MB is too long; %.1f MB can be read", float64(line.size)/1e6, MaxLine/1e6)}})
		return
	case id != "":
		if data, err := encodeError(bytes.Clone(f.id), codeInvalidParams, "The request is too long"); err == nil {
			c.out.put(data, true) // fails when droid is gone, and then nobody waits
		}
	}
	c.emit(Lost{Type: kind, Size: line.size})
}

// headOf takes the beginning of a line apart, which droid orders so that what it is
// stands first.
func headOf(head []byte) (f frame, kind string) {
	fields, _ := scanFields(head)
	for name, value, ok := fields.next(); ok; name, value, ok = fields.next() {
		switch string(name) {
		case "id":
			f.id = value
		case "method":
			f.method = value
			kind = kindOf(unquote(value))
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
