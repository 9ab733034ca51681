package stream

import "encoding/json"

// Types of messages, in their envelopes.
const (
	TypeRequest      = "request"
	TypeResponse     = "response"
	typeNotification = "notification"
)

// Methods that droid calls on its client.
const (
	methodNotification      = "droid.session_notification"
	methodRequestPermission = "droid.request_permission"
	methodAskUser           = "droid.ask_user"
)

// RPCError is a JSON-RPC error response of droid.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns droid's message.
func (e *RPCError) Error() string { return "droid: " + e.Message }

// CodeSessionNotFound is the code of the RPCError for a session unknown to droid (0.99 to 0.225).
const CodeSessionNotFound = -32004
