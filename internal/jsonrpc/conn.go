// Package jsonrpc speaks JSON-RPC 2.0 in lines, one message a line, in both directions
// at once. It knows lines, their order and size, and who answers whom; what a method means is its caller's.
//
// What was read takes effect in order. Reading goes on meanwhile, up to a bound, so that
// the end of the input and a cancelled request are noticed while a handler keeps the order
// and while answers wait for a slow peer.
//
// Two mistakes are kept out by what this package offers:
//
//   - A message of the next prompt overtakes the response to the one before. A request
//     may be answered before its handler returns, by Call.Respond: the response then has its
//     place in the outbox.
//   - The goroutine that owns a session blocks on a full outbox, and then cannot
//     hear the cancel that would end the flood. So no method that sends can wait:
//     Text and Notify always take what they are given. Who makes many messages asks
//     Full before each, and waits there together with all else it waits for.
package jsonrpc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// maxLine is the longest line, in bytes without its end, that is a message.
const maxLine = 10<<20 - 64

// endPatience is how long the input may have ended, and nothing of what was read before
// take effect, until the connection ends: a handler keeps the order, or the peer reads no
// answers.
const endPatience = 2 * time.Second

// Conn is the connection to one peer. Make it with New, run it with Run, and
// when what uses it has ended, end it with Close. Its methods may be called from
// any goroutine.
type Conn struct {
	in      *Ahead
	out     *Outbox
	handler Handler
	options Options
	log     *zap.Logger

	ctx    context.Context // of all calls
	cancel context.CancelCauseFunc
	lastID atomic.Int64

	// Tokens that update gives: something may take effect, there is space for what is
	// read, no request is without its response.
	turn, space, quiet chan struct{}

	mu    sync.Mutex
	state state
}

// Options of a connection. The zero value is that with an editor.
type Options struct {
	// MaxLine is the longest line that is a message, in bytes without its end; 0 is a
	// little less than 10 MiB.
	MaxLine int
	// Refused gets why a line is no message, in place of the peer.
	Refused func(e *Error)
	// ToTheEnd has the peer heard to its end, also when it reads no more.
	ToTheEnd bool
	// Unread is how many bytes may wait for the peer before the outbox is full; 0 is 2 MiB.
	Unread int
}

// New makes a connection that reads lines from in and writes lines to out. It
// reads nothing, and calls handler for nothing, before Run.
func New(in io.Reader, out io.Writer, handler Handler, options Options, log *zap.Logger) *Conn {
	options.MaxLine = cmp.Or(options.MaxLine, maxLine)
	c := &Conn{
		out: NewOutbox(out, maxBatch), handler: handler, options: options, log: log, state: newState(),
		turn: make(chan struct{}, 1), space: make(chan struct{}, 1), quiet: make(chan struct{}, 1),
	}
	c.in = NewAhead(in, func() { c.update((*state).leave) })
	c.out.most = cmp.Or(options.Unread, maxBytes)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	go c.out.Run()
	return c
}

// update is the one place where the state changes. It says who may go on.
func (c *Conn) update(f func(s *state)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.state
	f(s)
	if err := s.check(); err != nil {
		c.log.DPanic("the state of a connection is wrong", zap.Error(err))
	}
	give(c.turn, s.moved)
	s.moved = false
	give(c.space, !s.isFull())
	give(c.quiet, len(s.requests) == 0)
}

// give leaves a token, if it is due and there is none.
func give(token chan<- struct{}, due bool) {
	if due {
		select {
		case token <- struct{}{}:
		default:
		}
	}
}

// Run has what the peer sends take effect, until in ends, nobody reads out any more, or
// ctx is done. Handlers may still run when it returns. It does not interrupt a Read of in
// that is under way: who made in closes it.
func (c *Conn) Run(ctx context.Context) {
	go c.read()
	defer c.stop()
	var patience <-chan time.Time
	unread := c.out.Failed()
	if c.options.ToTheEnd {
		unread = nil
	}
	for {
		room := c.out.overfull()
		var it item
		var ok, ended, over bool
		c.update(func(s *state) {
			it, ok = s.next(room == nil)
			ended, over = s.ended || s.left, s.isOver()
		})
		switch {
		case ok:
			c.take(it)
			patience = nil
			continue
		case over:
			return
		case ended && patience == nil:
			patience = time.After(endPatience)
		}
		select {
		case <-c.turn:
		case <-room:
		case <-patience:
			c.log.Warn("the input has ended, and what was read before does not get on, so the connection ends")
			return
		case <-ctx.Done():
			return
		case <-unread:
			c.log.Warn("the editor does not read any more, so the connection ends")
			return
		}
	}
}

// take has an item take effect.
func (c *Conn) take(it item) {
	switch {
	case it.refusal != nil && c.options.Refused != nil:
		c.options.Refused(it.refusal)
	case it.refusal != nil:
		_, _ = c.out.Put(EncodeError(it.ID, it.refusal)) // a peer that is gone needs no answer
	case it.call != nil:
		go it.call.handle()
	default:
		c.answered(it.frame)
	}
}

// read reads until the input ends.
func (c *Conn) read() {
	defer c.update((*state).end)
	var long *outline
	lines := NewLines(c.in, c.options.MaxLine, func(piece []byte) { long.Read(piece) })
	for {
		long = new(outline)
		line, err := lines.Next()
		if !lines.Owned() {
			line = bytes.Clone(line) // what is heard keeps parts of it
		}
		switch {
		case err == nil:
			long = nil
		case !errors.As(err, new(*TooLongError)):
			return
		}
		if !c.hear(line, long) {
			return
		}
	}
}

// hear queues what a line is. It reports false when nothing more takes effect. A panic is
// logged, and the answer to the line.
func (c *Conn) hear(line []byte, long *outline) (more bool) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic("panic where a line is read", p)
			more = c.arriveAll(refuseLine(line, panicError("", p)))
		}
	}()
	return c.arriveAll(judge(line, long))
}

func (c *Conn) arriveAll(items []item) bool {
	for _, it := range items {
		if !c.arrive(it) {
			return false
		}
	}
	return true
}

// arrive queues what was read, as soon as there is space for it. It reports false when
// nothing more takes effect. A cancelled request is told at once: what it cancels may be what keeps the order.
func (c *Conn) arrive(it item) bool {
	if it.Method == methodCancelRequest && it.ID == nil {
		c.cancelRequest(json.RawMessage(it.Params))
		return true
	}
	if it.Method != "" {
		it.call = c.newCall(it.frame)
		it.frame = frame{}
	}
	for {
		var full, stopped bool
		c.update(func(s *state) {
			full, stopped = s.isFull(), s.stopped
			if !full {
				s.arrive(it)
			}
		})
		if !full {
			return !stopped
		}
		c.in.Look()
		<-c.space
	}
}

func (c *Conn) newCall(f frame) *Call {
	call := &Call{Context: c.ctx, Method: f.Method, Params: json.RawMessage(f.Params), conn: c}
	if f.ID != nil {
		call.Response = &Response{conn: c, id: f.ID, key: IDKey(f.ID)}
		call.Context, call.Response.cancel = context.WithCancel(c.ctx)
	}
	return call
}

// cancelRequest ends the context of the request that the peer cancels.
func (c *Conn) cancelRequest(params json.RawMessage) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil || p.RequestID == nil {
		return
	}
	var requests []*Response
	c.update(func(s *state) { requests = s.withID(IDKey(p.RequestID)) })
	for _, r := range requests {
		r.cancel()
	}
}

// stop has nothing more take effect, and ends what waits for the peer.
func (c *Conn) stop() {
	var lost []*Pending
	c.update(func(s *state) { lost = s.stop() })
	c.cancel(ErrGone)
	for _, p := range lost {
		c.finish(p, nil, ErrGone)
	}
}

// Close takes no more requests, waits until each that was taken has its response,
// and then until the peer has read what waits for it. For each of the two it
// waits limit at most, and says in the log what it gave up.
func (c *Conn) Close(limit time.Duration) {
	c.stop()
	if !c.wait(limit) {
		c.log.Error("a request of the editor was left without an answer")
	}
	c.out.Close()
	select {
	case <-c.out.Done():
	case <-time.After(limit):
		c.log.Warn("the editor did not take the last messages in time")
	}
}

// wait returns when every request has its response, or after limit. It reports whether
// all have.
func (c *Conn) wait(limit time.Duration) bool {
	over := time.After(limit)
	for {
		var left int
		c.update(func(s *state) { left = len(s.requests) })
		if left == 0 {
			return true
		}
		select {
		case <-c.quiet:
		case <-over:
			return false
		}
	}
}

// Abort ends the connection and waits for nobody. A Write of out that is under way ends
// when who made out closes it.
func (c *Conn) Abort() {
	c.stop()
	c.out.Abort()
}

// Text sends a text in a line of its own, or lengthens the last line where that
// has the same frame and still waits: a slow peer gets fewer and longer pieces.
func (c *Conn) Text(frame TextFrame, text string) { c.out.Text(frame, text) }

// Notify sends a notification. The error is encoding/json's, of params that cannot
// be encoded. A peer that is gone is no error here: Run returns then.
func (c *Conn) Notify(method string, params any) error {
	line, err := EncodeCall(nil, method, params)
	if err == nil {
		_, _ = c.out.Put(line)
	}
	return err
}

// Full returns nil while there is room for more on the way to the peer, see
// Outbox.Full.
func (c *Conn) Full() <-chan struct{} { return c.out.Full() }

func (c *Conn) logPanic(text string, p any, fields ...zap.Field) {
	c.log.Error(text, append(fields, zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))...)
}
