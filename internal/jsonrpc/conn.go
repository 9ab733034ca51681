// Package jsonrpc implements JSON-RPC 2.0 with one message per line, in both directions at once. Conn is the connection, Outbox its
// outgoing queue; acp/wire, droid and remote use them. The package handles lines, their order and size, and matches responses with
// requests; methods are up to its callers.
//
// Messages are handled in order. While a handler holds up the others, or responses wait for a slow peer, reading continues up to a limit,
// so that the end of the input and "$/cancel_request" are noticed.
//
// The API prevents two mistakes:
//
//   - A message of the next prompt overtakes the response to the previous one. Call.Respond queues the response before the handler returns.
//   - The goroutine that owns a session blocks on a full outbox, and then misses the cancellation that would end the flood. No method that
//     sends blocks: Text and Notify always accept. A producer of many messages first checks Full and waits for it together with everything
//     else.
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

	"droid-acp/internal/jsonrpc/flight"
)

// maxLine is the maximum length of a message, in bytes without the newline.
const maxLine = 10<<20 - 64

// endPatience is how long, after the end of the input, a connection stays open without progress on what was read, because a handler holds
// it up or the peer does not read responses.
const endPatience = 2 * time.Second

// Conn is the connection to a peer: create it with New, run it with Run, and finally call Close. Its methods may be called from any
// goroutine.
type Conn struct {
	in      *PrefetchReader
	out     *Outbox
	handler Handler
	options Options
	log     *zap.Logger

	ctx    context.Context // parent of all call contexts
	cancel context.CancelCauseFunc
	lastID atomic.Int64
	lines  atomic.Int64 // begun so far

	// Tokens, given by update: a message may be handled, there is space for more input, all requests are answered.
	turn, space, quiet chan struct{}

	mu    sync.Mutex
	state state
}

// Options configure a connection. The zero value is suitable for an editor.
type Options struct {
	// MaxLine is the maximum length of a message, in bytes without the newline; 0 means a little less than 10 MiB.
	MaxLine int
	// Rejected receives the error for a line that is not a message; if nil, the peer does.
	Rejected func(e *Error)
	// ReadToEnd makes Run read to the end of the input even if the peer no longer reads.
	ReadToEnd bool
	// Flight records the messages of both directions; nil for none.
	Flight *flight.Connection
	// MaxQueued is how many bytes may wait for the peer before the outbox is full; 0 means 2 MiB.
	MaxQueued int
}

// New creates a connection that reads lines from in and writes lines to out. Nothing is read or handled before Run.
func New(in io.Reader, out io.Writer, handler Handler, options Options, log *zap.Logger) *Conn {
	options.MaxLine = cmp.Or(options.MaxLine, maxLine)
	c := &Conn{
		out: NewOutbox(out, maxBatch), handler: handler, options: options, log: log, state: newState(),
		turn: make(chan struct{}, 1), space: make(chan struct{}, 1), quiet: make(chan struct{}, 1),
	}
	c.in = NewPrefetchReader(in, func() { c.update((*state).setPeerGone) })
	c.out.Record(options.Flight)
	c.out.limit = cmp.Or(options.MaxQueued, maxBytes)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	go c.out.Run()
	return c
}

// update changes the state; no other code does. It wakes those who may proceed.
func (c *Conn) update(f func(s *state)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.state
	f(s)
	if err := s.check(); err != nil {
		c.log.DPanic("the state of a connection is wrong", zap.Error(err))
	}
	signal(c.turn, s.changed)
	s.changed = false
	signal(c.space, !s.isFull())
	signal(c.quiet, len(s.requests) == 0)
}

// signal puts a token into the channel if it is due and not already there.
func signal(token chan<- struct{}, due bool) {
	if due {
		select {
		case token <- struct{}{}:
		default:
		}
	}
}

// Run reads and handles messages until in ends, nobody reads out any more, or ctx is done. Handlers may still be running when it returns.
// It does not interrupt a pending Read of in; whoever created in closes it.
func (c *Conn) Run(ctx context.Context) {
	go c.read()
	defer c.stop()
	var patience <-chan time.Time
	unread := c.out.Failed()
	if c.options.ReadToEnd {
		unread = nil
	}
	for {
		room := c.out.Overfull()
		var it item
		var ok, ended, over bool
		c.update(func(s *state) {
			it, ok = s.next(room == nil)
			ended, over = s.ended || s.peerGone, s.isOver()
		})
		switch {
		case ok:
			c.dispatch(it)
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
			c.log.Warn("the input has ended and pending messages make no progress, closing the connection")
			return
		case <-ctx.Done():
			return
		case <-unread:
			c.log.Warn("the editor no longer reads, closing the connection")
			return
		}
	}
}

// dispatch handles an item.
func (c *Conn) dispatch(it item) {
	switch {
	case it.rejection != nil && c.options.Rejected != nil:
		c.options.Rejected(it.rejection)
	case it.rejection != nil:
		_, _ = c.out.Put(EncodeError(it.ID, it.rejection)) // if the peer is gone, it needs no answer
	case it.call != nil:
		go it.call.handle()
	default:
		c.handleResponse(it.frame)
	}
}

// read reads until the input ends.
func (c *Conn) read() {
	defer c.update((*state).setEnded)
	var long *rejectedScanner
	lines := NewLines(c.in, c.options.MaxLine, func(piece []byte) { long.scan(piece) })
	for {
		long = new(rejectedScanner)
		if lines.WaitBegun() != nil {
			return // a terminal reports the end of its input only once
		}
		c.lines.Add(1)
		line, err := lines.Next()
		if !lines.Owned() {
			line = bytes.Clone(line) // items alias parts of it
		}
		switch {
		case err == nil:
			long = nil
		case !errors.As(err, new(*TooLongError)):
			return
		}
		if !c.handleLine(line, long) {
			return
		}
	}
}

// handleLine queues the items of a line. It returns false when nothing more will be handled. A panic is logged, and reported as the
// response to the line.
func (c *Conn) handleLine(line []byte, long *rejectedScanner) (more bool) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic("panic while reading a line", p)
			more = c.enqueueAll(rejectLine(line, panicError("", p)))
		}
	}()
	c.options.Flight.Add(flight.In, flight.Series{}, line)
	return c.enqueueAll(parseLine(line, long))
}

func (c *Conn) enqueueAll(items []item) bool {
	for _, it := range items {
		if !c.enqueue(it) {
			return false
		}
	}
	return true
}

// enqueue queues an item as soon as there is space. It returns false when nothing more will be handled. "$/cancel_request" takes effect at
// once, since it may cancel the very request that holds up the others.
func (c *Conn) enqueue(it item) bool {
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
				s.enqueue(it)
			}
		})
		if !full {
			return !stopped
		}
		c.in.Prefetch()
		<-c.space
	}
}

func (c *Conn) newCall(f frame) *Call {
	call := &Call{Context: c.ctx, Method: f.Method, Params: json.RawMessage(f.Params), Line: c.lines.Load(), conn: c}
	if f.ID != nil {
		call.Response = &Response{conn: c, id: f.ID, key: IDKey(f.ID)}
		call.Context, call.Response.cancel = context.WithCancel(c.ctx)
	}
	return call
}

// cancelRequest cancels the context of the request named in params.
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

// stop ends the handling of messages and fails all pending requests.
func (c *Conn) stop() {
	var lost []*Pending
	c.update(func(s *state) { lost = s.stop() })
	c.cancel(ErrGone)
	for _, p := range lost {
		c.finish(p, nil, ErrGone)
	}
}

// Close stops accepting requests, waits until all accepted ones are answered, and then until the peer has read everything. Each wait takes
// at most limit; Close logs what it gave up.
func (c *Conn) Close(limit time.Duration) {
	c.stop()
	if !c.wait(limit) {
		c.log.Error("a request of the editor remains unanswered")
	}
	c.out.Close()
	select {
	case <-c.out.Done():
	case <-time.After(limit):
		c.log.Warn("the editor did not read the last messages in time")
	}
}

// wait waits at most limit until every request is answered, and reports whether they all are.
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

// Abort closes the connection without waiting. A pending Write of out ends when whoever created out closes it.
func (c *Conn) Abort() {
	c.stop()
	c.out.Abort()
}

// Text sends a text, appending it to the last queued line if that has the same frame: a slow peer gets fewer and longer pieces.
func (c *Conn) Text(frame TextFrame, text string) { c.out.Text(frame, text) }

// Notify sends a notification. It fails only if params cannot be encoded. If the peer is gone, Run returns, and Notify reports no error.
func (c *Conn) Notify(method string, params any) error {
	line, err := EncodeCall(nil, method, params)
	if err == nil {
		_, _ = c.out.Put(line)
	}
	return err
}

// Lines returns the number of lines of which at least one byte was read.
func (c *Conn) Lines() int64 { return c.lines.Load() }

// Full returns nil while the outbox has room, see Outbox.Full.
func (c *Conn) Full() <-chan struct{} { return c.out.Full() }

// Overfull returns nil while the outbox is not overfull, see Outbox.Overfull.
func (c *Conn) Overfull() <-chan struct{} { return c.out.Overfull() }

func (c *Conn) logPanic(text string, p any, fields ...zap.Field) {
	c.log.Error(text, append(fields, zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))...)
}
