package droid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/memory"
)

// Methods that we call on droid (all versions observed).
const (
	methodInitialize     = "droid.initialize_session"
	methodLoad           = "droid.load_session"
	methodAddUserMessage = "droid.add_user_message"
	methodInterrupt      = "droid.interrupt_session"
	methodUpdateSettings = "droid.update_session_settings"
	methodFork           = "droid.fork_session"
	methodClose          = "droid.close_session"               // 0.215 to 0.225
	methodResolveQueued  = "droid.resolve_queued_user_message" // 0.215 to 0.225
)

// errNotSent means that ctx ended before the call was sent to droid.
var errNotSent = errors.New("not sent")

// pendingCall is one outstanding request. It is retired exactly once: whoever removes it from clientState.pending sends its outcome.
// jsonrpc.Conn cannot hold it, since it forgets cancelled requests: here their answers still matter, and the owner of an error without ID
// depends on which calls droid has read.
type pendingCall struct {
	method  string
	number  int64            // calls are sent in this order
	began   bool             // it made the client busy
	givenUp bool             // no caller waits for its answer
	done    chan callOutcome // buffered
}

type callOutcome struct {
	result json.RawMessage
	err    error
}

// Call sends a request and decodes its result into result, which may be nil. Nil params are sent as an empty object. The error is an
// *RPCError if droid refused, an *ExitError if droid has exited, ErrClosed, ErrBacklog, or that of ctx.
//
// Before 0.215 droid loses the ID of some errors. Until the version is known to keep it, calls wait for each other, so that such an error
// has one owner; interrupts do not wait, and never get such an error. A call that ctx ends does not block others any more; its answer
// becomes a LateResult or a LateError.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.callID(ctx, c.newID(), method, params, result)
}

func (c *Client) newID() string {
	return "r" + strconv.FormatInt(c.lastID.Add(1), 10)
}

func (c *Client) callID(ctx context.Context, id, method string, params, result any) error {
	raw, err := c.exchange(ctx, id, method, params)
	if err == nil && result != nil {
		if len(raw) == 0 {
			raw = []byte("null")
		}
		if err = decodeResult(raw, result); err != nil {
			err = fmt.Errorf("decoding the result: %w", err)
		}
		size := len(raw)
		raw = nil
		memory.ReleaseAfter(size) // the result does not alias the line
	}
	if err != nil {
		return fmt.Errorf("%s: %w", stream.KindOf(method), err)
	}
	return nil
}

// decodeResult decodes a result that is valid JSON, as its line was. A result with its own UnmarshalJSON, such as a history of megabytes,
// is not scanned for its end first.
func decodeResult(raw json.RawMessage, result any) error {
	if itself, ok := result.(json.Unmarshaler); ok {
		return itself.UnmarshalJSON(raw)
	}
	return json.Unmarshal(raw, result)
}

func (c *Client) exchange(ctx context.Context, id, method string, params any) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	data, err := encodeRequest(id, method, params)
	if err != nil {
		return nil, err
	}
	leave, err := c.enter(ctx, method)
	if err != nil {
		return nil, err
	}
	defer leave()
	p, l, err := c.send(id, method, data)
	if err != nil {
		return nil, err
	}
	return c.await(ctx, id, p, l)
}

// enter waits until the call may be sent (quirk 12): before 0.215 some errors do not name their call, so these droids get one call at a
// time.
func (c *Client) enter(ctx context.Context, method string) (leave func(), err error) {
	if method == methodInterrupt || c.Version().Supports(stream.NamesRequestOfErrors) {
		return func() {}, nil
	}
	select {
	case c.callGate <- struct{}{}:
		return func() { <-c.callGate }, nil
	case <-c.dead:
		return nil, c.exitError()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errNotSent, ctx.Err())
	}
}

// send registers the call and queues its line.
func (c *Client) send(id, method string, data []byte) (*pendingCall, *jsonrpc.Line, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.state
	switch {
	case s.exit != nil:
		return nil, nil, s.exit
	case s.closing && method != methodInterrupt && method != methodClose:
		return nil, nil, ErrClosed
	case s.pending[id] != nil:
		return nil, nil, fmt.Errorf("request id %q is in use", id)
	case c.out.isFull(data):
		return nil, nil, ErrBacklog
	}
	l, err := c.out.Put(data)
	if errors.Is(err, jsonrpc.ErrClosed) { // a broken stdin shows by droid's exit
		return nil, nil, ErrClosed
	}
	s.calls++
	p := &pendingCall{method: method, number: s.calls, done: make(chan callOutcome, 1)}
	s.pending[id] = p
	if method == methodAddUserMessage && !s.busy {
		p.began = true
		c.setBusy(true)
	}
	return p, l, nil
}

// await returns the outcome of a call, or the error of ctx. In the latter case droid may still execute the call, unless its line could be
// withdrawn.
func (c *Client) await(ctx context.Context, id string, p *pendingCall, l *jsonrpc.Line) (json.RawMessage, error) {
	select {
	case o := <-p.done:
		return o.result, o.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state.pending[id] != p: // answered at the same moment
		o := <-p.done
		return o.result, o.err
	case c.out.Remove(l):
		delete(c.state.pending, id)
		return nil, fmt.Errorf("%w: %w", errNotSent, ctx.Err())
	}
	p.givenUp = true
	return nil, ctx.Err()
}

// respond hands a response to its call. An error without a waiting call becomes a LateError: droid answers a user message without a session
// twice, first with a result (quirk 13). The result of an abandoned call becomes a LateResult.
func (c *Client) respond(r *stream.Response) {
	id, p := c.retire(r)
	switch {
	case p != nil && !p.givenUp: // its caller has the answer
	case r.Err != nil:
		c.log.Debug("late error from droid", zap.String("id", id), zap.Int("code", r.Err.Code))
		c.emit(stream.LateError{RequestID: id, Err: r.Err})
	case p != nil:
		c.log.Debug("late result from droid", zap.String("id", id), zap.String("method", p.method))
		var made struct {
			NewSessionID string `json:"newSessionId"`
		}
		_ = json.Unmarshal(r.Result, &made) // other results contain nothing that is still useful
		c.emit(stream.LateResult{NewSessionID: made.NewSessionID})
	default:
		c.log.Debug("response that nobody waits for", zap.String("id", id))
	}
}

// retire removes the call that a response answers from the outstanding ones, sends it its outcome and returns it, nil if there is none. id
// is the response's ID, or the call's if droid omitted it.
func (c *Client) retire(r *stream.Response) (id string, p *pendingCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.state
	if id = r.ID; id == "" && r.Err != nil {
		id = c.ownerOfNullID()
	}
	if p = s.pending[id]; p == nil {
		return id, nil
	}
	delete(s.pending, id)
	s.read = max(s.read, p.number)
	o := callOutcome{result: r.Result}
	if r.Err != nil {
		o.err = r.Err
	}
	p.done <- o
	switch {
	case r.Err != nil && p.began:
		c.setBusy(false)
	case r.Err == nil && (p.method == methodInitialize || p.method == methodLoad):
		s.answered = true
	case r.Err == nil && p.method == methodAddUserMessage:
		s.lastAccepted = id
	}
	return id, p
}

// ownerOfNullID returns the ID of the call that an error without ID belongs to: the first of the calls that droid may not have read yet.
// droid reads in order, so it has read all calls before one that it answered, and it refuses an invalid call as soon as it has read it
// (0.99). It returns "" if there is none, or if more than one caller waits. The caller holds mu.
func (c *Client) ownerOfNullID() string {
	owner, interrupt := "", ""
	waiting := 0
	for id, p := range c.state.pending {
		switch {
		case p.method == methodInterrupt:
			interrupt = id
			continue
		case !p.givenUp:
			waiting++
		case p.number < c.state.read:
			continue
		}
		if owner == "" || p.number < c.state.pending[owner].number {
			owner = id
		}
	}
	switch {
	case waiting > 1:
		return ""
	case owner == "":
		return interrupt
	}
	return owner
}
