// Package wire carries JSON-RPC lines between the agent and its editor. It knows
// lines, their order and size, and when a response is written; what a method
// means, what a session is and that there is a droid are its caller's.
//
// The SDK's acp.Connection parses, matches ids and encodes responses. By itself it
// runs pipelined requests in any order, loses a cancel that follows its prompt
// closely, drops malformed lines without an answer and dies of lines of 10 MiB. So
// it stands between two parts of this package: it reads from the gate, which hands
// it one good line at a time, and writes to the outbox, which keeps all that leaves
// in order and never makes a sender wait.
//
// Two mistakes are kept out by what this package offers:
//
//   - A message of the next prompt overtakes the response to the one before. The
//     SDK ends the Context of a request on "$/cancel_request", which is before its
//     response is written, and tells nobody when it writes it. So the only sign of
//     that is Response.WhenWritten, and it is given by the writer itself: when the
//     response has its place in the outbox.
//   - The goroutine that owns a session blocks on a full outbox, and then cannot
//     hear the cancel that would end the flood. So no method that sends can wait:
//     Text and Notify always take what they are given. Who makes many messages asks
//     Full before each, and waits there together with all else it waits for.
package wire

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"
)

// Conn is the connection to one editor. Make it with New, run it with Run, and
// when what uses it has ended, end it with Close. Its methods may be called from
// any goroutine.
type Conn struct {
	handler Handler
	log     *zap.Logger

	gate    *gate
	pending *pending
	out     *outbox
	rpc     *acp.Connection
}

// New makes a connection that reads lines from in and writes lines to out. It
// reads nothing, and calls handler for nothing, before Run.
func New(in io.Reader, out io.Writer, handler Handler, log *zap.Logger) *Conn {
	c := &Conn{handler: handler, log: log, pending: newPending(), out: newOutbox(out)}
	c.gate = newGate(in, c.out, c.out.overfull, c.pending, log)
	c.gate.waiting = true // for Run
	c.rpc = acp.NewConnection(c.handle, responseWriter{c.out, c.pending}, c.gate)
	c.rpc.SetLogger(slog.New(slog.DiscardHandler)) // it would log prompts; the gate answers what it refuses
	return c
}

// Run calls the handler for what the editor sends, until in ends, nobody reads out
// any more, or ctx is done. Handlers may still run when it returns. It does not
// interrupt a Read of in that is under way: who made in closes it.
func (c *Conn) Run(ctx context.Context) {
	c.gate.release()
	select {
	case <-c.rpc.Done():
	case <-ctx.Done():
	case <-c.out.failed:
		c.log.Warn("the editor does not read any more, so the connection ends")
	}
	c.gate.close()
}

// Close takes no more requests, waits until each that was taken has its response,
// and then until the editor has read what waits for it. For each of the two it
// waits limit at most, and says in the log what it gave up.
func (c *Conn) Close(limit time.Duration) {
	c.gate.close()
	if !c.pending.wait(limit) {
		c.log.Error("a request of the editor was left without an answer")
	}
	c.out.close()
	select {
	case <-c.out.done:
	case <-time.After(limit):
		c.log.Warn("the editor did not take the last messages in time")
	}
}

// Text sends a text in a line of its own, or lengthens the last line where that
// has the same frame and still waits: a slow editor gets fewer and longer pieces.
// A text of more than 64 KiB becomes several lines.
func (c *Conn) Text(frame TextFrame, text string) { c.out.sendText(frame, text) }

// Notify sends a notification. The error is encoding/json's, of params that cannot
// be encoded. An editor that is gone is no error here: Run returns then.
func (c *Conn) Notify(method string, params any) error {
	line, err := json.Marshal(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
	if err != nil {
		return err
	}
	_ = c.out.put(append(line, '\n'))
	return nil
}

// Full returns nil while there is room for more on the way to the editor, else a
// channel that is closed when there is room again. At the limit wait 1024 lines or
// 2 MiB. Of an editor that is gone there is always room.
func (c *Conn) Full() <-chan struct{} { return c.out.full() }

// Request sends a request to the editor and waits for its result. The error is the
// editor's own (*acp.RequestError), or why there will be no answer: the editor is
// gone, or ctx is done, of which the editor is then told by "$/cancel_request".
func Request[T any](ctx context.Context, c *Conn, method string, params any) (T, error) {
	return acp.SendRequest[T](c.rpc, ctx, method, params)
}

// handle has the handler deal with a request or notification. A panic ends that
// request alone: it is logged, and the editor gets an error.
func (c *Conn) handle(ctx context.Context, method string, params json.RawMessage) (result any, rerr *acp.RequestError) {
	call := &Call{Context: ctx, Method: method, Params: params, Response: c.gate.current, release: sync.OnceFunc(c.gate.release)}
	defer call.Ordered()
	defer func() {
		if p := recover(); p != nil {
			logPanic(c.log, "panic in a handler", p, zap.String("method", method))
			result, rerr = nil, panicError(" while handling "+method, p)
		}
	}()
	result, rerr = c.handler(call)
	if rerr != nil || result == nil {
		return nil, rerr
	}
	raw, err := json.Marshal(result) // here, where a panic is the request's alone
	if err != nil {
		return nil, NewError(codeInternalError, kindInternal, "the result could not be encoded: "+err.Error())
	}
	return json.RawMessage(raw), nil
}

func logPanic(log *zap.Logger, text string, p any, fields ...zap.Field) {
	log.Error(text, append(fields, zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))...)
}
