// Package wire is the connection between agent and editor: jsonrpc.Conn with ACP's errors and typed requests. adapter, serve and the relays
// use it. It knows neither methods nor sessions nor droid.
package wire

import (
	"context"
	"encoding/json"
	"io"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// Conn is the connection to one editor, see jsonrpc.Conn.
type Conn struct{ *jsonrpc.Conn }

// Types of package jsonrpc.
type (
	// Call is a request or notification of the editor.
	Call = jsonrpc.Call
	// TextFrame is a notification around a text.
	TextFrame = jsonrpc.TextFrame
	// Options of a connection.
	Options = jsonrpc.Options
	// Pending is a request to the editor without a response yet.
	Pending = jsonrpc.Pending
)

// ErrGone is the cause of contexts that end with the connection.
var ErrGone = jsonrpc.ErrGone

// Handler handles a request or notification, see jsonrpc.Handler. Its results are the response to a request; for a notification they are
// ignored.
type Handler func(c *Call) (result any, err *jsonrpc.Error)

// New creates a connection that reads lines from in and writes lines to out. Nothing is read or handled before Run.
func New(in io.Reader, out io.Writer, handler Handler, options Options, log *zap.Logger) *Conn {
	return &Conn{jsonrpc.New(in, out, func(c *Call) {
		result, err := handler(c)
		c.Respond(result, err)
	}, options, log)}
}

// Asker is the subset of Conn that sends requests.
type Asker interface {
	Ask(method string, params any, done func(result json.RawMessage, err error)) *Pending
}

// Ask sends a request to the editor. done receives the result, or the error: the editor's own (*jsonrpc.Error), a decoding error, or
// ErrGone. It must not block, and may be called before Ask returns.
func Ask[T any](c Asker, method string, params any, done func(T, error)) *Pending {
	return c.Ask(method, params, func(raw json.RawMessage, err error) { done(decode[T](raw, err)) })
}

// Request is Ask for a caller that waits. It also fails with the cause of ctx.
func Request[T any](ctx context.Context, c *Conn, method string, params any) (T, error) {
	return decode[T](c.Request(ctx, method, params))
}

func decode[T any](raw json.RawMessage, err error) (result T, _ error) {
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &result)
	}
	return result, err
}
