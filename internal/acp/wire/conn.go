// Package wire is the connection between the agent and its editor: JSON-RPC lines (see
// internal/jsonrpc) with ACP's errors. What a method means, what a session is and that
// there is a droid are its caller's.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// Conn is the connection to one editor, see jsonrpc.Conn.
type Conn struct{ *jsonrpc.Conn }

// Parts of the connection.
type (
	// Call is one request or notification of the editor.
	Call = jsonrpc.Call
	// TextFrame is a notification around a text.
	TextFrame = jsonrpc.TextFrame
	// Options of a connection.
	Options = jsonrpc.Options
	// Pending is a request to the editor that waits for its answer.
	Pending = jsonrpc.Pending
)

// ErrGone is the cause of a Context that ends with the connection.
var ErrGone = jsonrpc.ErrGone

// Handler deals with one request or notification, see jsonrpc.Handler. What it returns is
// the response. Of a notification nobody gets it.
type Handler func(c *Call) (result any, err *acp.RequestError)

// New makes a connection that reads lines from in and writes lines to out. It
// reads nothing, and calls handler for nothing, before Run.
func New(in io.Reader, out io.Writer, handler Handler, options Options, log *zap.Logger) *Conn {
	return &Conn{jsonrpc.New(in, out, func(c *Call) {
		result, err := handler(c)
		Respond(c, result, err)
	}, options, log)}
}

// Respond answers a request, see jsonrpc.Call.Respond.
func Respond(c *Call, result any, err *acp.RequestError) { c.Respond(result, (*jsonrpc.Error)(err)) }

// Asker sends requests, as a Conn does.
type Asker interface {
	Ask(method string, params any, done func(result json.RawMessage, err error)) *Pending
}

// Ask sends a request to the editor. done gets its result, or why there is none: the
// editor's own error (*acp.RequestError), a result that is none, or that the editor is
// gone. It must not block, and may be called before Ask returns.
func Ask[T any](c Asker, method string, params any, done func(T, error)) *Pending {
	return c.Ask(method, params, func(raw json.RawMessage, err error) { done(decode[T](raw, err)) })
}

// Request is Ask for a caller that waits. The error may be the cause of ctx's end, too.
func Request[T any](ctx context.Context, c *Conn, method string, params any) (T, error) {
	return decode[T](c.Request(ctx, method, params))
}

func decode[T any](raw json.RawMessage, err error) (result T, _ error) {
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		return result, (*acp.RequestError)(refused)
	case err == nil && len(raw) > 0:
		err = json.Unmarshal(raw, &result)
	}
	return result, err
}

// NewError makes an error response. Its message is title and, after a colon, text
// in one line; its data has the text as it stands.
func NewError(code int, title, text string) *acp.RequestError {
	return (*acp.RequestError)(jsonrpc.NewError(code, title, text))
}

// PlainError makes an error response, see jsonrpc.PlainError.
func PlainError(code int, text string) *acp.RequestError {
	return (*acp.RequestError)(jsonrpc.PlainError(code, text))
}

// InternalError makes an error response of what went wrong, see jsonrpc.InternalError.
func InternalError(kind, text string) *acp.RequestError {
	return (*acp.RequestError)(jsonrpc.InternalError(kind, text))
}

// Details are the data of an error. Zed shows them as they stand, provided that
// they have this one key.
func Details(text string) map[string]string { return jsonrpc.Details(text) }
