package stream

import "encoding/json"

// Types of a message, in its envelope.
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

// RPCError is a JSON-RPC error that droid answered a request with.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns droid's own words.
func (e *RPCError) Error() string { return "droid: " + e.Message }

// CodeSessionNotFound is the code of the RPCError for a session that droid does
// not know (0.99 to 0.225).
const CodeSessionNotFound = -32004
