package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"droid-acp/internal/text/visible"
)

// Error codes of JSON-RPC 2.0, section 5.1.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
)

// kindInternal is the kind of an error caused by a bug in this program.
const kindInternal = "internal_error"

// Error is the error of a response.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// UnmarshalJSON keeps the data as raw JSON.
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

// Error returns the message and the data; a string is not quoted.
func (e *Error) Error() string {
	if text, ok := e.Data.(string); ok {
		return e.Message + ": " + text
	}
	if data, err := json.Marshal(e.Data); err == nil && e.Data != nil {
		return e.Message + ": " + string(data)
	}
	return e.Message
}

// ErrGone is the error of requests that are pending when the connection ends.
var ErrGone = errors.New("the connection ended before the answer")

// NewError returns an error response. Its message is "title: text" in one line, since JSON-RPC wants a short sentence; its data has the
// text unchanged.
func NewError(code int, title, text string) *Error {
	err := PlainError(code, text)
	err.Message = title + ": " + err.Message
	return err
}

// PlainError returns an error response whose message is text in one line. Its data has the text unchanged.
func PlainError(code int, text string) *Error {
	return &Error{Code: code, Message: inOneLine(text), Data: Details(text)}
}

// InternalError returns an error response with code -32603. Its message is text in one line; its data has the text unchanged, and kind for
// programs.
func InternalError(kind, text string) *Error {
	data := Details(text)
	data["kind"] = visible.Line(kind)
	return &Error{Code: CodeInternalError, Message: inOneLine(text), Data: data}
}

// inOneLine returns text in one line, safe to display.
func inOneLine(text string) string { return visible.Line(strings.Join(strings.Fields(text), " ")) }

// Details returns the data of an error.
func Details(text string) map[string]string {
	return map[string]string{"details": visible.Text(text)}
}

// bugError reports a bug in this program, by the message alone.
func bugError(text string) *Error {
	return &Error{Code: CodeInternalError, Message: visible.Line(text), Data: map[string]string{"kind": kindInternal}}
}

// panicError reports a panic. doing completes the message, as in " while handling m".
func panicError(doing string, p any) *Error {
	return bugError(fmt.Sprintf("droid-acp failed%s: %v. The details are in its log; please report this.", doing, p))
}

// malformed rejects a line that is not a message.
func malformed(text string) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "Invalid request", Data: Details(text)}
}

// notJSON rejects a line that is not JSON.
func notJSON() *Error {
	return &Error{Code: CodeParseError, Message: "Parse error",
		Data: Details("the line is not valid JSON; each message is one line of JSON")}
}
