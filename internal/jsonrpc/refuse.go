package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// whiteSpace is what JSON allows around a message.
const whiteSpace = " \t\r\n"

// judge says what a line is: a message, or what is to be done in place of one that is
// none. A blank line is nothing. Of a line that is too long there is the outline alone.
//
// A refused line is answered with the error that JSON-RPC 2.0 names, under the id of the
// request wherever that can be known.
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

// Judged is what comes of a line that is no message, for those who pass lines on to a connection: the answers to it, and
// what is passed in its place, each without a line's end. A response that cannot be read is an error for who has asked.
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

// refuseLine refuses a line, each message of a batch by itself.
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
		if o.ID != nil { // else nobody waits for an answer to it
			items = append(items, refuse(o, e)...)
		}
	}
	if len(items) == 0 && !heard { // the line is not passed over in silence
		return []item{{refusal: e}}
	}
	return items
}

// refuse answers a message with an error, under its id where it is known. A response
// belongs to a request of our own, which gets the error. What else has no method is not
// answered: a peer that answered such an answer would get one again, without end.
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

// hasNoMethod reports that the line is JSON, an object, and without a "method".
func hasNoMethod(o *outline, e *Error) bool {
	return e.Code != CodeParseError && o.object && o.complete && !o.mistaken && !o.method
}
