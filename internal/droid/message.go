// Package droid runs Factory's droid CLI as a child process and speaks its
// stream-jsonrpc protocol: one JSON message a line on stdin and stdout.
//
// It knows processes, framing and requests; what droid says is decoded by package
// stream. It does not know ACP, and it does not judge what droid says: repeats,
// contradictions and lost messages pass through it unchanged to internal/quirks.
package droid

import (
	"bytes"
	"encoding/json"
	"fmt"

	"droid-acp/internal/droid/stream"
)

// apiVersion is the factoryApiVersion that every message must carry; droid
// answers −32700 to any other value (all versions observed, 0.57 to 0.225).
const apiVersion = "1.0.0"

// JSON-RPC error codes that we answer droid's requests with. droid takes any
// error as a refusal: cancel for a permission, a failed tool for a question
// (0.99 to 0.225).
const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
)

// request is a request of ours. droid refuses an id that is no string and a
// request without params (all versions observed).
type request struct {
	JSONRPC    string `json:"jsonrpc"`
	Type       string `json:"type"`
	APIVersion string `json:"factoryApiVersion"`
	ID         string `json:"id"`
	Method     string `json:"method"`
	Params     any    `json:"params"`
}

// reply is our response to a request of droid. ID is the id as droid wrote it.
type reply struct {
	JSONRPC    string           `json:"jsonrpc"`
	Type       string           `json:"type"`
	APIVersion string           `json:"factoryApiVersion"`
	ID         json.RawMessage  `json:"id"`
	Result     any              `json:"result,omitempty"`
	Error      *stream.RPCError `json:"error,omitempty"`
}

// encodeRequest returns the line of a request, with its newline.
func encodeRequest(id, method string, params any) ([]byte, error) {
	if params == nil {
		params = struct{}{}
	}
	return encodeLine(request{"2.0", stream.TypeRequest, apiVersion, id, method, params})
}

// encodeResult returns the line that answers a request of droid.
func encodeResult(id string, result any) ([]byte, error) {
	raw, err := json.Marshal(id)
	if err != nil {
		return nil, fmt.Errorf("encoding the id of a response: %w", err)
	}
	return encodeLine(reply{JSONRPC: "2.0", Type: stream.TypeResponse, APIVersion: apiVersion, ID: raw, Result: result})
}

// encodeError returns the line that refuses a request of droid.
func encodeError(id json.RawMessage, code int, message string) ([]byte, error) {
	return encodeLine(reply{
		JSONRPC: "2.0", Type: stream.TypeResponse, APIVersion: apiVersion, ID: id,
		Error: &stream.RPCError{Code: code, Message: message},
	})
}

// encodeLine marshals without HTML escapes, which would inflate code by half.
func encodeLine(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding a message for droid: %w", err)
	}
	return buf.Bytes(), nil
}
