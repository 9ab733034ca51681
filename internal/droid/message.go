// Package droid runs Factory's droid CLI as a child process and speaks its stream-jsonrpc protocol: one JSON message per line on stdin and
// stdout. Its main type is Client, a running droid; package adapter has one for each session, and the doctor and smoke use it too.
//
// The package handles processes, framing and requests; package stream decodes droid's messages. It does not know ACP, and it does not judge
// what droid sends: repeated, contradictory and lost messages pass through it unchanged to internal/quirks.
package droid

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/memory"
	"droid-acp/internal/text/rawjson"
)

// apiVersion is the factoryApiVersion that every message must have; droid answers −32700 to any other value (all versions observed, 0.57 to
// 0.225).
const apiVersion = "1.0.0"

// request is a request to droid, which refuses an ID that is not a string and a request without params (all versions observed).
type request struct {
	JSONRPC    string `json:"jsonrpc"`
	Type       string `json:"type"`
	APIVersion string `json:"factoryApiVersion"`
	ID         string `json:"id"`
	Method     string `json:"method"`
	Params     any    `json:"params"`
}

// reply is our response to a request of droid. ID is the ID as droid wrote it.
type reply struct {
	JSONRPC    string           `json:"jsonrpc"`
	Type       string           `json:"type"`
	APIVersion string           `json:"factoryApiVersion"`
	ID         json.RawMessage  `json:"id"`
	Result     any              `json:"result,omitempty"`
	Error      *stream.RPCError `json:"error,omitempty"`
}

// encodeRequest returns the line of a request, including the newline.
func encodeRequest(id, method string, params any) ([]byte, error) {
	if params == nil {
		params = struct{}{}
	}
	if m, ok := params.(userMessage); ok {
		return m.encodeRequest(id, method)
	}
	return encodeLine(request{"2.0", stream.TypeRequest, apiVersion, id, method, params})
}

// userMessage is the params of a user message.
type userMessage struct {
	Text      string         `json:"text"`
	Images    []stream.Image `json:"images,omitempty"`
	Files     []stream.File  `json:"files,omitempty"`
	MessageID string         `json:"messageId,omitempty"`
	Format    *outputFormat  `json:"outputFormat,omitempty"`
}

// outputFormat is the form that the answer to a message must have.
type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// newUserMessage returns the params for m.
func newUserMessage(m stream.UserMessage) userMessage {
	u := userMessage{Text: m.Text, Images: m.Images, Files: m.Files, MessageID: m.MessageID}
	if m.Schema != nil {
		u.Format = &outputFormat{"json_schema", m.Schema}
	}
	return u
}

// encodeRequest returns the line of the request that sends m. Images and documents are megabytes, of which encoding/json would make several
// copies: the line is encoded without them, and they are inserted afterwards.
func (m userMessage) encodeRequest(id, method string) ([]byte, error) {
	m.Images, m.Files = slices.Clone(m.Images), slices.Clone(m.Files)
	var apart []string // in the order of the line
	take := func(data *string) {
		if isPlain(*data) {
			apart, *data = append(apart, *data), ""
		}
	}
	for i := range m.Images {
		take(&m.Images[i].Data)
	}
	for i := range m.Files {
		take(&m.Files[i].Data)
	}
	line, err := encodeLine(request{"2.0", stream.TypeRequest, apiVersion, id, method, m})
	if err != nil {
		return nil, err
	}
	size := len(line)
	for _, data := range apart {
		size += len(data)
	}
	memory.ReleaseAfter(size) // the line that the data came with is no longer needed
	whole := make([]byte, 0, size)
	for _, data := range apart {
		const begins = `"data":"` // no text contains that: quotes are escaped
		at := bytes.Index(line, []byte(begins+`"`)) + len(begins)
		whole = append(append(whole, line[:at]...), data...)
		line = line[at:]
	}
	return append(whole, line...), nil
}

// isPlain reports whether a JSON string may contain the text unescaped.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// encodeResult returns the line that answers a request of droid.
func encodeResult(id string, result any) ([]byte, error) {
	raw, err := json.Marshal(id)
	if err != nil {
		return nil, fmt.Errorf("encoding the id of a response: %w", err)
	}
	return encodeLine(reply{JSONRPC: "2.0", Type: stream.TypeResponse, APIVersion: apiVersion, ID: raw, Result: result})
}

// encodeError returns the line that refuses a request of droid. droid treats any error as a refusal: cancel for a permission, a failed tool
// for a question (0.99 to 0.225).
func encodeError(id json.RawMessage, code int, message string) ([]byte, error) {
	return encodeLine(reply{
		JSONRPC: "2.0", Type: stream.TypeResponse, APIVersion: apiVersion, ID: id,
		Error: &stream.RPCError{Code: code, Message: message},
	})
}

func encodeLine(v any) ([]byte, error) {
	line, err := rawjson.MarshalLine(v)
	if err != nil {
		return nil, fmt.Errorf("encoding a message for droid: %w", err)
	}
	return line, nil
}
