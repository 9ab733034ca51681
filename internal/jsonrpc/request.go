package jsonrpc

import (
	"context"
	"encoding/json"
	"strconv"

	"go.uber.org/zap"
)

// methodCancelRequest is the notification that cancels a request, in both directions.
const methodCancelRequest = "$/cancel_request"

// Pending is a request of our own without a response yet.
type Pending struct {
	conn *Conn
	key  string // its ID
	line *Line
	done func(result json.RawMessage, err error)
}

// Ask sends a request. Unless Withdraw succeeds, done is called exactly once, with the result, the peer's *Error, ErrGone, or the error of
// encoding params; in the latter two cases possibly before Ask returns. It is called in the order of the peer's messages and must not
// block.
func (c *Conn) Ask(method string, params any, done func(result json.RawMessage, err error)) *Pending {
	p := &Pending{conn: c, key: strconv.FormatInt(c.lastID.Add(1), 10), done: done}
	line, err := EncodeCall(json.RawMessage(p.key), method, params)
	if err == nil {
		c.update(func(s *state) {
			if !s.addPending(p) {
				err = ErrGone
				return
			}
			p.line, _ = c.out.Put(line) // stop reports it if the peer is gone
		})
	}
	if err != nil {
		done(nil, err)
	}
	return p
}

// Withdraw gives up a request, so that done is not called, and sends "$/cancel_request" if the peer may have seen it. It returns false if
// it was too late.
func (p *Pending) Withdraw() bool {
	waits := false
	p.conn.update(func(s *state) { waits = s.removePending(p.key) != nil })
	if waits && !p.conn.out.Remove(p.line) {
		_ = p.conn.Notify(methodCancelRequest, map[string]json.RawMessage{"requestId": json.RawMessage(p.key)})
	}
	return waits
}

// Request is Ask for a caller that waits. It also fails with the cause of ctx.
func (c *Conn) Request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	type outcome struct {
		result json.RawMessage
		err    error
	}
	answered := make(chan outcome, 1)
	p := c.Ask(method, params, func(result json.RawMessage, err error) { answered <- outcome{result, err} })
	select {
	case o := <-answered:
		return o.result, o.err
	case <-ctx.Done():
	}
	if p.Withdraw() {
		return nil, context.Cause(ctx)
	}
	o := <-answered
	return o.result, o.err
}

// handleResponse handles the response to one of our requests.
func (c *Conn) handleResponse(f frame) {
	var p *Pending
	c.update(func(s *state) { p = s.removePending(IDKey(f.ID)) })
	switch {
	case p == nil:
		c.log.Debug("response to an unknown request", zap.ByteString("id", f.ID))
	case f.Error != nil:
		c.finish(p, nil, f.Error)
	default:
		c.finish(p, json.RawMessage(f.Result), nil)
	}
}

// finish calls done and contains its panic.
func (c *Conn) finish(p *Pending, result json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic("panic while handling a response", p)
		}
	}()
	p.done(result, err)
}
