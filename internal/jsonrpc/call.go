package jsonrpc

import (
	"context"
	"encoding/json"

	"go.uber.org/zap"
)

// Handler deals with one request or notification. The next message takes effect when it
// has called Ordered, or else when it returns; it runs beside the handlers of later ones
// after that. A request gets the response of Respond, which may be called after the
// handler has returned. A panic in it ends that request alone.
type Handler func(c *Call)

// Call is one request or notification of the peer.
type Call struct {
	// Context ends when the peer cancels the request with "$/cancel_request", when it has
	// its response, and when the connection ends, by the cause ErrGone.
	Context context.Context
	// Method is the JSON-RPC method.
	Method string
	// Params are its params as they came, nil where there are none.
	Params json.RawMessage
	// Response is nil for a notification, which has none; its methods take that.
	Response *Response

	conn *Conn
}

// Ordered says that what this call does is now ordered against what later ones do, so
// that the next message may take effect. It may be called more than once.
func (c *Call) Ordered() { c.conn.update(func(s *state) { s.ordered(c) }) }

// Respond answers the request: with the result as JSON, null for nil, unless there is an
// error. When it returns, the response has its place on the way to the peer, and all that is sent from then on comes
// behind it; that the peer has read it is not said. Only the first response counts. That of a notification nobody gets.
func (c *Call) Respond(result any, e *Error) {
	r := c.Response
	if r == nil {
		return
	}
	if e != nil {
		c.conn.respond(r, EncodeError(r.id, e))
		return
	}
	line, err := EncodeResult(r.id, result)
	if err != nil {
		line = EncodeError(r.id, mistake("the result could not be encoded: "+err.Error()))
	}
	c.conn.respond(r, line)
}

// handle has the handler deal with the call.
func (c *Call) handle() {
	defer c.Ordered()
	defer func() {
		if p := recover(); p != nil {
			c.conn.logPanic("panic in a handler", p, zap.String("method", c.Method))
			c.Respond(nil, panicError(" while handling "+c.Method, p))
		}
	}()
	c.conn.handler(c)
}

// Response is the response to one request of the peer.
type Response struct {
	conn   *Conn
	id     json.RawMessage
	key    string // see IDKey
	cancel context.CancelFunc
}

// ID is the id of the request, as the peer wrote it; nil for a notification's.
func (r *Response) ID() json.RawMessage {
	if r == nil {
		return nil
	}
	return r.id
}

// respond writes the response to a request, unless it has one.
func (c *Conn) respond(r *Response, line []byte) {
	c.update(func(s *state) {
		if s.answer(r) {
			_, _ = c.out.Put(line) // a peer that is gone needs no answer
		}
	})
	r.cancel()
}
