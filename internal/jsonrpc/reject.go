package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// whiteSpace lists the characters that JSON allows around a message.
const whiteSpace = " \t\r\n"

// parseLine converts a line into items: a message, or the responses to a line that is not a valid one. A blank line has none. For a line that
// is too long, only the scan is available.
//
// The error is the one that JSON-RPC 2.0 prescribes, with the ID of the request if it can be determined.
func parseLine(line []byte, long *rejectedScanner) []item {
	if long != nil {
		return reject(long, NewError(CodeInvalidRequest, "Invalid request",
			"the message is longer than 10 MiB; send large files as resource links instead of embedding them"))
	}
	trimmed := bytes.Trim(line, whiteSpace)
	if len(trimmed) == 0 {
		return nil
	}
	var f frame
	if err := f.decode(trimmed); err != nil {
		return rejectLine(trimmed, err)
	}
	return []item{{frame: f, size: len(trimmed)}}
}

// Validate validates a line on behalf of a relay. It returns the responses for its sender and the messages to pass on instead, both without
// newlines. A malformed response becomes an error for the requester.
func Validate(line []byte) (answers, passes [][]byte) {
	for _, it := range parseLine(line, nil) {
		switch e := it.frame.Error; {
		case it.rejection != nil:
			answers = append(answers, bytes.TrimSuffix(EncodeError(it.ID, it.rejection), []byte("\n")))
		case e != nil && it.ID != nil:
			passes = append(passes, bytes.TrimSuffix(EncodeError(it.ID, e), []byte("\n")))
		default:
			passes = append(passes, line)
		}
	}
	return answers, passes
}

// rejectLine rejects a line; a batch is rejected message by message.
func rejectLine(line []byte, e *Error) (items []item) {
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil {
		batch = []json.RawMessage{line}
	}
	heard := len(batch) > 0
	for _, message := range batch {
		o := new(rejectedScanner)
		o.scan(message)
		if o.deepest > maxDepth {
			e = malformed(fmt.Sprintf("the message has more than %d levels of lists and objects", maxDepth))
		}
		heard = heard && hasNoMethod(o, e)
		if o.id != nil { // without an ID nobody waits for a response
			items = append(items, reject(o, e)...)
		}
	}
	if len(items) == 0 && !heard { // every rejected line is reported
		return []item{{rejection: e}}
	}
	return items
}

// reject returns the error for a message. The error for a response goes to our own request. Other messages without a method get no
// response: a peer that responded to it would start an endless exchange.
func reject(o *rejectedScanner, e *Error) []item {
	switch {
	case o.blank():
		return nil
	case o.isResponse() || hasNoMethod(o, e) && o.id != nil:
		return []item{{frame: frame{ID: o.id, Error: e}}}
	case hasNoMethod(o, e):
		return nil
	}
	return []item{{frame: frame{ID: o.id}, rejection: e}}
}

// hasNoMethod reports whether the line is a JSON object without a "method".
func hasNoMethod(o *rejectedScanner, e *Error) bool {
	return e.Code != CodeParseError && o.object && o.complete && !o.invalid && !o.method
}
