package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// whiteSpace is what JSON allows around a message.
const whiteSpace = " \t\r\n"

// judge converts a line into items: a message, or the responses to a line that is not a valid one. A blank line has none. For a line that
// is too long, only the outline is available.
//
// The error is the one that JSON-RPC 2.0 prescribes, with the ID of the request if it can be determined.
func judge(line []byte, long *outline) []item {
	if long != nil {
		return refuse(long, NewError(CodeInvalidRequest, "Invalid request",
			"the message is longer than 10 MiB; send large files as resource links instead of embedding them"))
	}
	trimmed := bytes.Trim(line, whiteSpace)
	if len(trimmed) == 0 {
		return nil
	}
	var f frame
	if err := f.decode(trimmed); err != nil {
		return refuseLine(trimmed, err)
	}
	return []item{{frame: f, size: len(trimmed)}}
}

// Judged validates a line on behalf of a relay. It returns the responses for its sender and the messages to pass on instead, both without
// newlines. A malformed response becomes an error for the requester.
func Judged(line []byte) (answers, passes [][]byte) {
	for _, it := range judge(line, nil) {
		switch e := it.frame.Error; {
		case it.refusal != nil:
			answers = append(answers, bytes.TrimSuffix(EncodeError(it.ID, it.refusal), []byte("\n")))
		case e != nil && it.ID != nil:
			passes = append(passes, bytes.TrimSuffix(EncodeError(it.ID, e), []byte("\n")))
		default:
			passes = append(passes, line)
		}
	}
	return answers, passes
}

// refuseLine rejects a line; a batch is rejected message by message.
func refuseLine(line []byte, e *Error) (items []item) {
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil {
		batch = []json.RawMessage{line}
	}
	heard := len(batch) > 0
	for _, message := range batch {
		o := new(outline)
		o.Read(message)
		if o.deepest > maxDepth {
			e = malformed(fmt.Sprintf("the message has more than %d levels of lists and objects", maxDepth))
		}
		heard = heard && hasNoMethod(o, e)
		if o.ID != nil { // without an ID nobody waits for a response
			items = append(items, refuse(o, e)...)
		}
	}
	if len(items) == 0 && !heard { // every rejected line is reported
		return []item{{refusal: e}}
	}
	return items
}

// refuse returns the error for a message. The error for a response goes to our own request. Other messages without a method get no
// response: a peer that responded to it would start an endless exchange.
func refuse(o *outline, e *Error) []item {
	switch {
	case o.blank():
		return nil
	case o.isResponse() || hasNoMethod(o, e) && o.ID != nil:
		return []item{{frame: frame{ID: o.ID, Error: e}}}
	case hasNoMethod(o, e):
		return nil
	}
	return []item{{frame: frame{ID: o.ID}, refusal: e}}
}

// hasNoMethod reports whether the line is a JSON object without a "method".
func hasNoMethod(o *outline, e *Error) bool {
	return e.Code != CodeParseError && o.object && o.complete && !o.mistaken && !o.method
}
