package jsonrpc

import (
	"context"
	"encoding/json"

	"go.uber.org/zap"
)

// Handler handles one request or notification. The next message is handled once the handler has called Async or has returned; after
// Async both run concurrently. A request is answered by Call.Respond, possibly after the handler has returned. A panic fails only this
// request.
type Handler func(c *Call)

// Call is one request or notification of the peer.
type Call struct {
	// Context ends when the peer cancels the request by "$/cancel_request", when the request is answered, and when the connection ends,
	// with the cause ErrGone.
	Context context.Context
	// Method is the JSON-RPC method.
	Method string
	// Params are the raw params, nil if there are none.
	Params json.RawMessage
	// Line is the number of its line, counted from 1.
	Line int64
	// Response is nil for a notification; its methods accept that.
	Response *Response

	conn *Conn
}

// Async declares that the effects of this call are ordered before those of later calls, so that the next message may be handled. It may
// be called more than once.
func (c *Call) Async() { c.conn.update(func(s *state) { s.releaseNext(c) }) }

// Respond answers the request with an error, or else with the result encoded as JSON (null for nil). It returns once the response is
// queued, so that everything sent later follows it; the peer may not have read it. Only the first response counts. For a notification it
// does nothing.
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
		line = EncodeError(r.id, bugError("the result could not be encoded: "+err.Error()))
	}
	c.conn.respond(r, line)
}

// handle runs the handler for the call.
func (c *Call) handle() {
	defer c.Async()
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

// ID returns the ID of the request as the peer wrote it, nil for a notification.
func (r *Response) ID() json.RawMessage {
	if r == nil {
		return nil
	}
	return r.id
}

// respond sends the response to a request, unless it has been answered.
func (c *Conn) respond(r *Response, line []byte) {
	c.update(func(s *state) {
		if s.markAnswered(r) {
			_, _ = c.out.Put(line) // if the peer is gone, it needs no answer
		}
	})
	r.cancel()
}
