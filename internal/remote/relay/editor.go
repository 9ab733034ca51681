// Package relay is the editor's end of what passes its messages on to an agent elsewhere: it knows which
// requests wait for an answer, and tells them when nobody is there any more who answers.
package relay

import (
	"context"
	"io"
	"time"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/subprocess"
)

const (
	// MaxLine is the longest message that is passed on, in bytes.
	MaxLine = 256 << 20
	// Batch is how many bytes of several lines one write has.
	Batch = 256 << 10
	// DrainTime is how long what was said last may take to be written.
	DrainTime = 2 * time.Second
	// failureWait is how long one who has lost the agent waits for a request to say so.
	failureWait = 5 * time.Second
)

// EditorConn is the editor's end. Make it with New.
type EditorConn struct {
	PendingRequests
	Out         *jsonrpc.Outbox // to the editor; who made the EditorConn has its Run called
	Interactive bool            // a person runs it, in a terminal, who sends no requests
	Linger      time.Duration   // how long it stays when it has told why nobody answers

	// AdaptError makes of an error what this client shows of it; method is that of the request that it answers.
	// nil leaves it as it is.
	AdaptError func(method string, e *jsonrpc.Error) *jsonrpc.Error
}

// New makes the end of an editor that reads out.
func New(out io.Writer) *EditorConn {
	return &EditorConn{PendingRequests: PendingRequests{failureSent: make(chan struct{})}, Out: jsonrpc.NewOutbox(out, Batch)}
}

// Put sends the editor a line, which is the outbox's then. The end of who is gone is noticed elsewhere.
func (e *EditorConn) Put(line []byte) { _, _ = e.Out.Put(line) }

// Refuse answers a request with an error.
func (e *EditorConn) Refuse(id []byte, method string, err *jsonrpc.Error) {
	if e.AdaptError != nil {
		err = e.AdaptError(method, err)
	}
	e.Put(jsonrpc.EncodeError(id, err))
}

// Track notes a message of the editor, and reports whether somebody gets it. A request that nobody will answer
// is told why.
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

// Fail tells the requests that wait that nobody answers, or else the next one, which it waits for: until then, or the
// editor has ended, or reads no more, or ctx is done.
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

// await reports whether something happens before all this ends.
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

// Flush has what the editor is told written.
func (e *EditorConn) Flush() {
	e.Out.Close()
	subprocess.WaitTimeout(e.Out.Done(), DrainTime)
}
