// Package relay has what packages keep and via share: both pass an editor's messages on to an agent elsewhere. Its main type is EditorConn,
// the editor's end: it tracks the unanswered requests and fails them when the agent is gone.
package relay

import (
	"context"
	"io"
	"time"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/subprocess"
)

const (
	// MaxLine is the maximum length of a message that is passed on, in bytes.
	MaxLine = 256 << 20
	// Batch is the maximum size in bytes of several lines in one write.
	Batch = 256 << 10
	// DrainTime is how long the last messages may take to be written.
	DrainTime = 2 * time.Second
	// failureWait is how long to wait for a request that can report that the agent is gone.
	failureWait = 5 * time.Second
)

// EditorConn is the connection to the editor. Make it with New.
type EditorConn struct {
	PendingRequests
	Out         *jsonrpc.Outbox // to the editor; whoever makes the EditorConn calls its Run
	Interactive bool            // a person runs it in a terminal, and sends no requests
	Linger      time.Duration   // how long to stay after the reason for the end was sent

	// AdaptError adapts an error to what the client displays; method is the method of the failed request. It may be nil.
	AdaptError func(method string, e *jsonrpc.Error) *jsonrpc.Error
}

// New makes a connection to the editor that reads out.
func New(out io.Writer) *EditorConn {
	return &EditorConn{PendingRequests: PendingRequests{failureSent: make(chan struct{})}, Out: jsonrpc.NewOutbox(out, Batch)}
}

// Put sends the editor a line, which the outbox owns then. An editor that is gone is noticed elsewhere.
func (e *EditorConn) Put(line []byte) { _, _ = e.Out.Put(line) }

// Refuse answers a request with an error.
func (e *EditorConn) Refuse(id []byte, method string, err *jsonrpc.Error) {
	if e.AdaptError != nil {
		err = e.AdaptError(method, err)
	}
	e.Put(jsonrpc.EncodeError(id, err))
}

// Track records a message of the editor, and reports whether it may be passed on. A request that cannot be answered any more is answered
// with the failure.
func (e *EditorConn) Track(h jsonrpc.Head) bool {
	if !h.IsRequest() {
		return true
	}
	failure := e.add(h.ID, h.Method)
	if failure != nil {
		e.Refuse(h.ID, h.Method, failure)
		e.markFailureSent()
	}
	return failure == nil
}

// Fail answers the pending requests with the failure. If there are none, it waits for the next request, until the editor has ended, stops
// reading, or ctx is done.
func (e *EditorConn) Fail(ctx context.Context, failure *jsonrpc.Error, ended <-chan struct{}) {
	for _, c := range e.fail(failure) {
		e.Refuse(c.id, c.method, failure)
		e.markFailureSent()
	}
	if e.Interactive || !e.await(ctx, e.failureSent, ended, failureWait) {
		return
	}
	e.await(ctx, nil, ended, e.Linger)
}

// await reports whether something happens before everything else that ends the wait.
func (e *EditorConn) await(ctx context.Context, something, ended <-chan struct{}, limit time.Duration) bool {
	select {
	case <-something:
		return true
	case <-ended:
	case <-ctx.Done():
	case <-e.Out.Failed():
	case <-time.After(limit):
	}
	return false
}

// Flush writes what is queued for the editor.
func (e *EditorConn) Flush() {
	e.Out.Close()
	subprocess.WaitTimeout(e.Out.Done(), DrainTime)
}
