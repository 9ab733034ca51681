// Package stream has the types of droid's stream-jsonrpc protocol, and decodes droid's output: events, responses, messages of a
// conversation, settings, and the features that depend on droid's version. Its main types are Event and Decoder. It is pure, so that
// quirks, render and other packages without I/O can use it; package droid runs the processes.
package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"droid-acp/internal/text/rawjson"
)

// Errors of Decode. Neither occurs in any recording.
var (
	errNotJSON    = errors.New("line is no JSON object")
	errNotMessage = errors.New("line is neither request, response nor notification")
)

// Line is one decoded line of droid's stdout: an Event or a Response.
type Line struct {
	Version   Version // the line's factoryProtocolVersion, zero when absent
	SessionID string  // params.sessionId (since 0.215, not on every event)
	Event     Event
	Response  *Response

	RequestID json.RawMessage // of a request that became Unknown and must be refused
	Invalid   bool            // that request has a known method, but unexpected params or an unexpected ID

	// UnknownFields describes what is in no table of this package: a kind of event or permission, or a field.
	UnknownFields []string
}

// Response is droid's answer to a request. ID is "" if droid lost it (see NamesRequestOfErrors).
type Response struct {
	ID     string
	Result json.RawMessage
	Err    *RPCError
}

// Decoder decodes the lines of one droid. It reuses strings that repeat on every line.
type Decoder struct {
	versionText []byte
	version     Version
	sessionID   string
	messageID   string
	owned       bool
	text        []byte     // the text of the current line, if it is a text delta, with its quotes
	shape       deltaShape // of the last line that was a text delta
	before      deltaShape // the previous different shape: messages may alternate
}

// frame is a line split into its fields; the slices alias the line.
type frame struct {
	kind, id, method, params, result, err, meta []byte
}

// Decode decodes the next line of droid's stdout. Unknown notifications and requests, and known ones that cannot be decoded, become Unknown
// events; only a line that is not a JSON-RPC message is an error. owned says that the line's memory is not reused, so that large parts of
// the result may alias it; otherwise the result shares no memory with it.
func (d *Decoder) Decode(data []byte, owned bool) (Line, error) {
	if line, ok := d.shape.decode(data); ok {
		return line, nil
	}
	if line, ok := d.before.decode(data); ok {
		d.shape, d.before = d.before, d.shape
		return line, nil
	}
	d.owned, d.text = owned, nil

	if !json.Valid(data) || !rawjson.IsObject(data) {
		return Line{}, errNotJSON
	}
	var f frame
	var line Line
	for name, value := range rawjson.Fields(data) {
		switch string(name) {
		case "type":
			f.kind = value
		case "id":
			f.id = value
		case "method":
			f.method = value
		case "params":
			f.params = value
		case "result":
			f.result = value
		case "error":
			f.err = value
		case "_meta":
			f.meta = value
		case "factoryProtocolVersion":
			line.Version = d.parseVersion(value)
		}
	}
	line, err := d.dispatch(line, f)
	if delta, ok := line.Event.(TextDelta); ok {
		d.shape, d.before = deltaShape{}, d.shape // the shape of this line; before has the last different one
		if d.text != nil {
			d.shape = shapeOf(data, d.text, f.meta, line, delta)
		}
	}
	return line, err
}

// parseVersion parses a version; an invalid one counts as none.
func (d *Decoder) parseVersion(raw []byte) Version {
	if !bytes.Equal(raw, d.versionText) {
		d.versionText = bytes.Clone(raw)
		d.version, _ = ParseVersion(rawjson.Unquote(raw)) // an invalid version is unknown
	}
	return d.version
}

func (d *Decoder) dispatch(line Line, f frame) (Line, error) {
	hasID := len(f.id) > 0 && string(f.id) != "null"
	kind := inner(f.kind)
	if len(kind) == 0 {
		kind = []byte(guessType(f, hasID))
	}
	switch string(kind) {
	case TypeResponse:
		line.Response = d.decodeResponse(f)
		return line, nil
	case typeNotification:
		d.decodeNotification(&line, f)
		return line, nil
	case TypeRequest:
		if hasID {
			decodeRequest(&line, f)
			return line, nil
		}
	}
	return Line{}, errNotMessage
}

// inner returns the bytes between the quotes of a raw string, still escaped, nil for any other value. Comparing it with a constant does not
// allocate.
func inner(raw []byte) []byte {
	if !rawjson.IsString(raw) {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// guessType classifies a message without the "type" that every droid sends.
func guessType(f frame, hasID bool) string {
	switch {
	case f.method != nil && hasID:
		return TypeRequest
	case f.method != nil:
		return typeNotification
	case f.result != nil || f.err != nil:
		return TypeResponse
	}
	return ""
}

func (d *Decoder) decodeResponse(f frame) *Response {
	r := &Response{ID: rawjson.Unquote(f.id), Result: f.result} // the result is most of the line
	if !d.owned {
		r.Result = bytes.Clone(f.result)
	}
	if f.err == nil || string(f.err) == "null" {
		return r
	}
	r.Err = new(RPCError)
	if err := json.Unmarshal(f.err, r.Err); err != nil {
		r.Err = &RPCError{Message: "unreadable error", Data: bytes.Clone(f.err)}
	}
	return r
}

func decodeRequest(line *Line, f frame) {
	method := rawjson.Unquote(f.method)
	switch method {
	case methodRequestPermission:
		e := PermissionRequest{RequestID: rawjson.Unquote(f.id)}
		line.Event = decodeInto(KindOf(method), f.params, &e)
	case methodAskUser:
		e := QuestionRequest{RequestID: rawjson.Unquote(f.id)}
		line.Event = decodeInto(KindOf(method), f.params, &e)
	default:
		line.Event = Unknown{Type: KindOf(method), Raw: bytes.Clone(f.params)}
		line.RequestID = bytes.Clone(f.id)
		line.addUnknown("request " + KindOf(method))
		return
	}
	line.addUnknownInRequest(KindOf(method), f.params)
	if u, bad := line.Event.(Unknown); bad || !rawjson.IsString(f.id) {
		if !bad {
			u = Unknown{Type: KindOf(method), Raw: bytes.Clone(f.params), Err: errors.New("request id is no string")}
		}
		line.Event, line.RequestID, line.Invalid = u, bytes.Clone(f.id), true
	}
}

// KindOf returns the method without its prefix "droid.".
func KindOf(method string) string { return strings.TrimPrefix(method, "droid.") }

func (d *Decoder) decodeNotification(line *Line, f frame) {
	if string(inner(f.method)) != methodNotification {
		line.Event = Unknown{Type: KindOf(rawjson.Unquote(f.method)), Raw: bytes.Clone(f.params)}
		line.addUnknown("notification " + line.Event.Kind())
		return
	}
	var body []byte
	for name, value := range rawjson.Fields(f.params) {
		switch string(name) {
		case "notification":
			body = value
		case "sessionId":
			d.sessionID = reuseString(d.sessionID, value)
			line.SessionID = d.sessionID
		}
	}
	line.Event = d.decodeEvent(line, body, f.params)
	switch ev := line.Event.(type) {
	case WorkingStateChanged:
		ev.Trace = traceID(f.meta)
		line.Event = ev
	case MessageCreated:
		ev.Trace = traceID(f.meta)
		line.Event = ev
	}
}

// traceID returns the second part of meta's W3C traceparent, or "".
func traceID(meta []byte) string {
	parts := strings.Split(rawjson.Unquote(traceparent(meta)), "-")
	if len(parts) != 4 {
		return ""
	}
	return parts[1]
}

// reuseString returns the string in raw, old itself if it is equal.
func reuseString(old string, raw []byte) string {
	if rawjson.IsString(raw) && string(inner(raw)) == old {
		return old
	}
	return rawjson.Unquote(raw)
}

// decodeEvent decodes body, a notification object. If body is not an object, params are kept in an Unknown.
func (d *Decoder) decodeEvent(line *Line, body, params []byte) Event {
	if !rawjson.IsObject(body) {
		return Unknown{Type: KindOf(methodNotification), Raw: bytes.Clone(params), Err: errors.New("no notification object")}
	}
	var kind, messageID, index, text []byte
	for name, value := range rawjson.Fields(body) {
		switch string(name) {
		case "type":
			kind = value
		case "messageId":
			messageID = value
		case "blockIndex":
			index = value
		case "textDelta":
			text = value
		}
	}
	thinking := string(inner(kind)) == "thinking_text_delta"
	if thinking || string(inner(kind)) == "assistant_text_delta" {
		if n, ok := smallInt(index); ok && rawjson.IsString(messageID) && rawjson.IsString(text) {
			d.messageID, d.text = reuseString(d.messageID, messageID), text
			return TextDelta{MessageID: d.messageID, BlockIndex: n, Text: rawjson.Unquote(text), Thinking: thinking}
		}
	}
	line.addUnknownFields(string(inner(kind)), body)
	return decodeKind(rawjson.Unquote(kind), body)
}

// decodeKind decodes everything but regular text deltas, by reflection.
func decodeKind(kind string, body []byte) Event {
	if n, known := kinds[kind]; known {
		return n.decode(kind, body)
	}
	return Unknown{Type: kind, Raw: bytes.Clone(body)}
}

// decodeInto unmarshals body into *e, or returns an Unknown.
func decodeInto[E Event](kind string, body []byte, e *E) Event {
	if err := json.Unmarshal(body, e); err != nil {
		return Unknown{Type: kind, Raw: bytes.Clone(body), Err: fmt.Errorf("decoding %s: %w", kind, err)}
	}
	return *e
}

// smallInt reads a plain non-negative integer of at most nine digits.
func smallInt(raw []byte) (n int, ok bool) {
	if len(raw) == 0 || len(raw) > 9 {
		return 0, false
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
