package jsonrpc

import (
	"context"
	"encoding/json"
	"strconv"

	"go.uber.org/zap"
)

// methodCancelRequest is the notification that cancels a request, in both directions.
const methodCancelRequest = "$/cancel_request"

// Pending is a request of our own that waits for its answer.
type Pending struct {
	conn *Conn
	key  string // its id
	line *Line
	done func(result json.RawMessage, err error)
}

// Ask sends a request. done is called once, unless Withdraw says otherwise: with the
// result, with the peer's *Error, with ErrGone, or with why params could not be encoded;
// the last two may come before Ask returns. It is called in the order in which what the
// peer says takes effect, and must not block.
func (c *Conn) Ask(method string, params any, done func(result json.RawMessage, err error)) *Pending {
	p := &Pending{conn: c, key: strconv.FormatInt(c.lastID.Add(1), 10), done: done}
	line, err := EncodeCall(json.RawMessage(p.key), method, params)
	if err == nil {
		c.update(func(s *state) {
			if !s.ask(p) {
				err = ErrGone
				return
			}
			p.line, _ = c.out.Put(line) // the end of a peer that reads no more is told by stop
		})
	}
	if err != nil {
		done(nil, err)
	}
	return p
}

// Withdraw has no answer come any more, and tells the peer by "$/cancel_request", if that
// may know of the request. It reports whether it was in time: done is not called then.
func (p *Pending) Withdraw() bool {
	waits := false
	p.conn.update(func(s *state) { waits = s.settle(p.key) != nil })
	if waits && !p.conn.out.Withdraw(p.line) {
		_ = p.conn.Notify(methodCancelRequest, map[string]json.RawMessage{"requestId": json.RawMessage(p.key)})
	}
	return waits
}

// Request is Ask for a caller that waits. The error may be the cause of ctx's end, too.
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

// answered takes the peer's answer to a request of our own.
func (c *Conn) answered(f frame) {
	var p *Pending
	c.update(func(s *state) { p = s.settle(IDKey(f.ID)) })
	switch {
	case p == nil:
		c.log.Debug("an answer that nobody waits for", zap.ByteString("id", f.ID))
	case f.Error != nil:
		c.finish(p, nil, f.Error)
	default:
		c.finish(p, json.RawMessage(f.Result), nil)
	}
}

// finish calls done. A panic there ends nothing else.
func (c *Conn) finish(p *Pending, result json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic("panic where an answer is taken", p)
		}
	}()
	p.done(result, err)
}
