package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// The methods that droid is known to have (0.99.0 and 0.225.2).
const (
	Pairing = "device-pairing"
	APIKey  = "factory-api-key"
)

// How long droid may take.
const (
	// StartTime is for its answer to initialize, which came within 1.5 s.
	StartTime = time.Minute
	// Time is for its answer to authenticate. A person has to act meanwhile, and
	// droid ends the pairing by itself when its code is no longer valid.
	Time = 15 * time.Minute
)

// Why there is no answer of droid's.
var (
	ErrStartTime = errors.New("droid did not begin to log in within a minute")
	ErrTime      = errors.New("the login was not finished within 15 minutes")
	ErrDeclined  = errors.New("the address to log in at was declined")
	ErrClosed    = errors.New("the program ends")
)

// Error is droid's own answer that it did not log in: the error of its response, as it
// came.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error is droid's message with its data. Data that is a text stands as such.
func (e *Error) Error() string {
	var text string
	switch {
	case len(e.Data) == 0 || string(e.Data) == "null":
		return e.Message
	case json.Unmarshal(e.Data, &text) == nil:
		return e.Message + ": " + text
	}
	return e.Message + ": " + string(e.Data)
}

// encoded is the error as it goes to droid.
func (e *Error) encoded() *jsonrpc.Error {
	encoded := &jsonrpc.Error{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		encoded.Data = e.Data
	}
	return encoded
}

// NoMethodError says that droid does not have the method that was wanted.
type NoMethodError struct {
	Method string
	Has    []string // the ids of those that it has
}

// Error names the method and those that there are.
func (e *NoMethodError) Error() string {
	if len(e.Has) == 0 {
		return fmt.Sprintf("this droid has no way to log in called %q, and no other in its ACP mode", e.Method)
	}
	return fmt.Sprintf("this droid has no way to log in called %q; it has %s", e.Method, strings.Join(e.Has, ", "))
}

// Listener is who waits for a login. Link and Ask may block; their context ends when the
// listener waits no more.
type Listener struct {
	// Capabilities are the clientCapabilities (ACP, initialize) that droid is told, so
	// that it asks for nothing else. Those of the first listener count.
	Capabilities json.RawMessage
	// Link gets an address that droid opened in a browser. False means that the user
	// does not want to go there, which ends the listener's wait with ErrDeclined.
	Link func(ctx context.Context, address string) bool
	// Tell gets a notification of droid's. It returns at once.
	Tell func(method string, params json.RawMessage)
	// Ask gets a request of droid's and returns the answer to it. Each request goes to
	// one listener; if that leaves before it has answered, to the next.
	Ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *Error)
}

// Desk has droid log in, once at a time for each method. Its methods may be called from
// any goroutine. Make it with New.
type Desk struct {
	start     Start
	log       *zap.Logger
	succeeded func(method string)

	ctx    context.Context // of all runs
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	runs    map[string]*run // those that can be joined, by method
	running sync.WaitGroup
}

// New makes a Desk whose droids are started by start. succeeded is called once for each
// login that droid says it has done, before those who wait learn it, and also when
// nobody waits any more.
func New(start Start, succeeded func(method string), log *zap.Logger) *Desk {
	d := &Desk{start: start, log: log, succeeded: succeeded, runs: make(map[string]*run)}
	d.ctx, d.cancel = context.WithCancelCause(context.Background())
	return d
}

// Login logs in by the method and returns droid's result, which is JSON. If a login by
// that method is under way, it joins that one, and learns what droid has told so far.
//
// The error is droid's own (*Error), the cause of ctx's end, ErrDeclined, or why droid
// gave no answer: *NoMethodError, *DiedError, ErrStartTime, ErrTime, ErrClosed, or what
// start returned. When ctx ends, the run goes on for others who wait for it; without
// any it ends.
func (d *Desk) Login(ctx context.Context, method string, l Listener) (json.RawMessage, error) {
	r, m, err := d.join(method, l)
	if err != nil {
		return nil, err
	}
	defer d.leave(r, m)
	return r.follow(ctx, m)
}

// Close ends all logins. It returns when their droids are gone, at most 4 s later.
func (d *Desk) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.cancel(ErrClosed)
	d.running.Wait()
}

// join makes the listener a member of a run by the method: the one that there is, or a
// new one.
func (d *Desk) join(method string, l Listener) (*run, *member, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, nil, ErrClosed
	}
	r := d.runs[method]
	if r == nil {
		r = newRun(d, method, l.Capabilities)
		d.runs[method] = r
		d.running.Go(r.work)
	}
	m := &member{l: l, wake: make(chan struct{}, 1)}
	r.add(m)
	return r, m, nil
}

// leave takes a member out of its run. The last one ends the run.
func (d *Desk) leave(r *run, m *member) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.remove(m) == 0 {
		d.forget(r)
		r.cancel(context.Canceled)
	}
}

// forget makes a run one that cannot be joined. The caller holds mu.
func (d *Desk) forget(r *run) {
	if d.runs[r.method] == r {
		delete(d.runs, r.method)
	}
}

// over notes that a run has its outcome: who comes now begins another one.
func (d *Desk) over(r *run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(r)
}

// known reports whether droid offers the method.
func known(method string, offered []string) error {
	if slices.Contains(offered, method) {
		return nil
	}
	return &NoMethodError{Method: method, Has: offered}
}
