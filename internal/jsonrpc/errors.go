package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"droid-acp/internal/visible"
)

// Codes of JSON-RPC 2.0, section 5.1.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeInternalError  = -32603
)

// kindInternal begins the message of an error that is a mistake in this program.
const kindInternal = "internal_error"

// Error is the error of a response. Its fields are those of the SDK's acp.RequestError,
// so that one can be converted to the other.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// UnmarshalJSON keeps the data as they came.
func (e *Error) UnmarshalJSON(raw []byte) error {
	var frame struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	err := json.Unmarshal(raw, &frame)
	*e = Error{Code: frame.Code, Message: frame.Message}
	if frame.Data != nil {
		e.Data = frame.Data
	}
	return err
}

// Error is the message with the data. Data that is a text stands as such.
func (e *Error) Error() string {
	if text, ok := e.Data.(string); ok {
		return e.Message + ": " + text
	}
	if data, err := json.Marshal(e.Data); err == nil && e.Data != nil {
		return e.Message + ": " + string(data)
	}
	return e.Message
}

// ErrGone is why a request has no answer when the connection has ended.
var ErrGone = errors.New("the connection ended before the answer")

// NewError makes an error response. Its message is title and, after a colon, text
// in one line, as JSON-RPC wants a short sentence there; its data has the text as
// it stands.
func NewError(code int, title, text string) *Error {
	line := visible.Line(strings.Join(strings.Fields(text), " "))
	return &Error{Code: code, Message: title + ": " + line, Data: Details(text)}
}

// Details are the data of an error. Zed shows them as they stand, provided that
// they have this one key.
func Details(text string) map[string]string {
	return map[string]string{"details": visible.Text(text)}
}

// PanicError tells the peer of a panic in this program.
func PanicError(p any) *Error { return panicError("", p) }

// panicError is PanicError with what was being done, as in " while handling m".
func panicError(doing string, p any) *Error {
	return NewError(codeInternalError, kindInternal,
		fmt.Sprintf("droid-acp failed%s: %v. The details are in its log; please report this.", doing, p))
}

// malformed refuses a line that is no message.
func malformed(text string) *Error {
	return &Error{Code: codeInvalidRequest, Message: "Invalid request", Data: Details(text)}
}

// notJSON refuses a line that is no JSON.
func notJSON() *Error {
	return &Error{Code: codeParseError, Message: "Parse error",
		Data: Details("the line is not valid JSON; each message is one line of JSON")}
}
