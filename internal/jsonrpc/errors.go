package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"droid-acp/internal/text/visible"
)

// Codes of JSON-RPC 2.0, section 5.1.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
)

// kindInternal is the kind of an error that is a mistake in this program.
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
	err := PlainError(code, text)
	err.Message = title + ": " + err.Message
	return err
}

// PlainError makes an error response whose message is text in one line. Its data has the text as it stands.
func PlainError(code int, text string) *Error {
	return &Error{Code: code, Message: inOneLine(text), Data: Details(text)}
}

// InternalError makes an error response of what went wrong, for which kind is the word for programs.
// Its message is text in one line; its data has the word, and the text as it stands.
func InternalError(kind, text string) *Error {
	data := Details(text)
	data["kind"] = visible.Line(kind)
	return &Error{Code: CodeInternalError, Message: inOneLine(text), Data: data}
}

// inOneLine is a text in one line that is safe to show.
func inOneLine(text string) string { return visible.Line(strings.Join(strings.Fields(text), " ")) }

// Details are the data of an error.
func Details(text string) map[string]string {
	return map[string]string{"details": visible.Text(text)}
}

// mistake tells the peer of a mistake in this program, in words that stand in the message alone.
func mistake(text string) *Error {
	return &Error{Code: CodeInternalError, Message: visible.Line(text), Data: map[string]string{"kind": kindInternal}}
}

// panicError tells the peer of a panic. doing is what was being done, as in " while handling m".
func panicError(doing string, p any) *Error {
	return mistake(fmt.Sprintf("droid-acp failed%s: %v. The details are in its log; please report this.", doing, p))
}

// malformed refuses a line that is no message.
func malformed(text string) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "Invalid request", Data: Details(text)}
}

// notJSON refuses a line that is no JSON.
func notJSON() *Error {
	return &Error{Code: CodeParseError, Message: "Parse error",
		Data: Details("the line is not valid JSON; each message is one line of JSON")}
}
