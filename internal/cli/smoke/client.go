// Package smoke is an ACP client without an editor. Run works through prompts, for CI and for a first try, and returns a Result; Attach
// shows a running session in a terminal. The commands smoke and attach of cmd/droid-acp call them.
package smoke

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// client speaks ACP to an agent. The agent's messages are handled in order, and only while the client waits for an answer: at other times
// the client itself holds mu.
type client struct {
	mu    sync.Mutex
	conn  *jsonrpc.Conn
	ctx   context.Context         // of the connection
	fail  context.CancelCauseFunc // ends it, and the run, with this error
	show  viewer
	allow Policy
	turn  *PromptResult // the running one, nil between prompts
}

func connect(in io.Reader, out, w io.Writer, o Options) *client {
	c := &client{show: viewer{w: w, raw: o.JSON, colour: o.Colour}, allow: o.Allow}
	c.ctx, c.fail = context.WithCancelCause(context.Background())
	c.conn = jsonrpc.New(io.TeeReader(in, &lines{c: c}), io.MultiWriter(&lines{c: c}, out), c.handle, jsonrpc.Options{
		MaxLine: 256 << 20,
		Rejected: func(e *jsonrpc.Error) {
			c.fail(errors.New("the agent wrote a line that is not JSON-RPC: " + e.Message))
		},
	}, cmp.Or(o.Log, zap.NewNop()))
	c.mu.Lock()
	go c.conn.Run(c.ctx)
	return c
}

// close ends the connection. Nothing is shown afterwards.
func (c *client) close() {
	c.fail(nil)
	c.conn.Abort()
	c.mu.Unlock()
}

// lines shows the messages of one direction, in whole lines.
type lines struct {
	c    *client
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	end := bytes.LastIndexByte(p, '\n') + 1
	if end > 0 && l.c.ctx.Err() == nil {
		l.c.show.line(append(l.rest, p[:end]...))
		l.rest = nil
	}
	l.rest = append(l.rest, p[end:]...)
	return len(p), nil
}

// call sends a request and waits for its response.
func (c *client) call(method string, params, result any) error {
	var raw json.RawMessage
	answered := make(chan error, 1)
	c.mu.Unlock()
	c.conn.Ask(method, params, func(r json.RawMessage, err error) {
		c.mu.Lock() // for the waiting caller: messages after the answer are handled during the next call
		raw = r
		answered <- err
	})
	err := <-answered
	var refused *jsonrpc.Error
	switch {
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	case errors.As(err, &refused):
		return &rpcError{refused.Code, refused.Message, refused.Data, method}
	case errors.Is(err, jsonrpc.ErrGone):
		return fmt.Errorf("waiting for the answer to %s: the agent closed the connection", method)
	case err != nil:
		return err
	}
	return json.Unmarshal(raw, result)
}

// handle shows an update and answers a permission request. All other requests are declined: this client declares no capabilities.
func (c *client) handle(call *jsonrpc.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return // the run has ended
	}
	switch call.Method {
	case "session/update":
		u, err := readUpdate(call.Params)
		if err != nil {
			c.show.entry("?", string(call.Params))
			break
		}
		c.turn.addUpdate(u)
		c.show.update(u)
	case "session/request_permission":
		var p permissionRequest
		if err := json.Unmarshal(call.Params, &p); err != nil {
			c.fail(fmt.Errorf("permission request: %w", err))
			break
		}
		tool := p.call()
		option := c.allow.pick(p)
		c.turn.addPermission(tool, option)
		c.show.permission(tool, p.Options, option)
		outcome := map[string]any{"outcome": "selected", "optionId": option.OptionID}
		if option.OptionID == "" {
			outcome = map[string]any{"outcome": "cancelled"}
		}
		call.Respond(map[string]any{"outcome": outcome}, nil)
	default:
		call.Respond(nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found: " + call.Method})
	}
}
