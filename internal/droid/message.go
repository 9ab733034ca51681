// Package droid runs Factory's droid CLI as a child process and speaks its
// stream-jsonrpc protocol: one JSON message a line on stdin and stdout.
//
// It knows processes, framing, requests, events and per-version facts. It does
// not know ACP, and it does not judge what droid says: repeats, contradictions
// and lost messages pass through it unchanged to internal/quirks.
package droid

import "encoding/json"

// apiVersion is the factoryApiVersion that every message must carry; droid
// answers −32700 to any other value (all versions observed, 0.57 to 0.225).
const apiVersion = "1.0.0"

// message types of the envelope.
const (
	typeRequest      = "request"
	typeResponse     = "response"
	typeNotification = "notification"
)

// Methods that droid calls on its client.
const (
	methodNotification      = "droid.session_notification"
	methodRequestPermission = "droid.request_permission"
	methodAskUser           = "droid.ask_user"
)

// envelope is one line in either direction. ID is a string in all that droid
// accepts (a number is refused), and null in error responses of droid ≤0.117.
type envelope struct {
	JSONRPC         string          `json:"jsonrpc"`
	Type            string          `json:"type"`
	APIVersion      string          `json:"factoryApiVersion"`
	ProtocolVersion string          `json:"factoryProtocolVersion,omitempty"`
	ID              *string         `json:"id,omitempty"`
	Method          string          `json:"method,omitempty"`
	Params          json.RawMessage `json:"params,omitempty"`
	Result          json.RawMessage `json:"result,omitempty"`
	Error           *RPCError       `json:"error,omitempty"`
}

// RPCError is a JSON-RPC error that droid answered a request with.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns droid's own words.
func (e *RPCError) Error() string { return "droid: " + e.Message }
